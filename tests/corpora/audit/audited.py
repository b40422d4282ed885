"""A source whose composition a few lines of json and Counter tell as well."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import zstandard

from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst

DATES: list[dict[str, Any]] = [
    {"year": 1987},
    {"date": "2004-07-05"},
    {"date_filed": "1999-12-31"},
    {"time": 1_300_000_000},
    {"year": "", "date": "5 Jan 2012"},
    {"release_year": 1975},
    {},
]
WORDS = ("she", "he", "nurse", "doctor", "Der", "the", "a", "of", "walks", "Ärztin", "x1")


def make_source(folder: Path, seed: int = 0) -> Path:
    random = Random(seed)
    folder.mkdir()
    for number in range(3):
        rows = []
        for n in range(40):
            words = [random.choice(WORDS) + str(random.randrange(9)) * (n % 3) for _ in range(60)]
            text = " ".join(random.choice(WORDS) for _ in range(30)) + ". " + ", ".join(words)
            component = ("Github", "Wikipedia (en)", "no\u202esuch", "Books3")[random.randrange(4)]
            rows.append(Document(text, component, f"{number}-{n}", "", DATES[random.randrange(7)]))
        jsonl_zst.write_documents(str(folder / f"{number}.jsonl.zst"), rows)
    return folder


def records(folder: Path) -> list[dict[str, Any]]:
    """Every record of a folder's shards, by zstandard and json."""
    found = []
    for path in sorted(folder.rglob("*.jsonl.zst")):
        text = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode()
        found += [json.loads(line) for line in text.split("\n")[:-1]]
    return found
