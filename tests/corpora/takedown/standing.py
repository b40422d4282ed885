"""A small built corpus with hostile names, and what stands in it, read without the project."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import zstandard

from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus

COMPONENTS = ("Github", "ArXiv", "evil\u202egpj.exe", "a'b\"c\\[red]日本")
HOSTILE_ID = "../..;rm -rf $HOME #2\n\u202e\x1b[31m日本"


def sentence(random: Random) -> str:
    return " ".join(f"w{random.randrange(5_000)}" for _ in range(random.randint(5, 12)))


def make_source(folder: Path, files: int = 4, documents: int = 30, seed: int = 0) -> Path:
    """Some components in some files; every tenth text holds `SECRET-<file>-<n>`."""
    random = Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        rows = []
        for n in range(documents):
            body = "".join(f"{sentence(random)}.\n" for _ in range(random.randint(2, 20)))
            body += f"SECRET-{number}-{n}\r\n" if n % 10 == 0 else ""
            name = HOSTILE_ID if (number, n) == (1, 5) else f"{number}-{n}"
            meta = {"year": 1990 + 10 * (n % 4)} if n % 5 else {}
            rows.append(Document(body, COMPONENTS[random.randrange(4)], name, "", meta))
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), rows)
    return folder


def build(source: Path, out: Path, **options: Any) -> Path:
    given = {"shard_bytes": 12_000, "test_share": 0.05, "val_share": 0.05, **options}
    build_corpus(CorpusRequest((str(source),), str(out), **given))
    return out


def records(corpus: Path) -> list[tuple[str, int, dict[str, Any]]]:
    """(shard, line, record) of every line, by zstandard and json, in the manifest's order."""
    found = []
    for shard in json.loads((corpus / "manifest.json").read_text())["shards"]:
        raw = (corpus / shard["path"]).read_bytes()
        text = zstandard.ZstdDecompressor().stream_reader(raw).read().decode()
        lines = text.split("\n")[:-1]
        found += [(shard["path"], n, json.loads(line)) for n, line in enumerate(lines, 1)]
    return found


def digests(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }
