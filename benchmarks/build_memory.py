"""Memory of a build as its input grows: `make bench`.

Claim: the peak of a build is bounded by shard and batch, not by the corpus (20 MB, 200 MB, 2 GB of
text made from real text); deduplication and mixing hold some 110 and 130 bytes a document more.
Every figure is the peak resident set of a process of its own (Linux: VmHWM).

    python benchmarks/build_memory.py [--data URL] [--megabytes 20,200,2000]
                                      [--documents 200000,1000000,3000000] [--json FILE]

A generated document is a row of windows of five lines, drawn from the given real documents.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from read_speed import collect

from seamount.core.records import Document
from seamount.corpora.text import build, jsonl_zst
from seamount.corpora.text.catalog import load_catalog
from seamount.corpora.text.stages import deduplicate, index, mix, stage

SOURCE_BYTES = 24_000_000
FILE_BYTES = 64_000_000
WINDOW = 5


def windows(texts: Iterable[str]) -> list[str]:
    found = []
    for text in texts:
        lines = text.split("\n")
        found += ["\n".join(lines[i : i + WINDOW]) for i in range(0, len(lines), WINDOW)]
    return [window for window in found if 20 < len(window) < 4_000]


def generated(pool: list[str], size: int, random: Random) -> Iterator[Document]:
    number = 0
    while size > 0:
        text = "\n".join(random.choices(pool, k=random.choice((4, 8, 16, 64))))
        size -= len(text.encode())
        yield Document(text, "Pile-CC", f"made-{number}", "made", {})
        number += 1


def write_source(pool: list[str], size: int, folder: Path, file_bytes: int = FILE_BYTES) -> None:
    for number, start in enumerate(range(0, size, file_bytes)):
        part = generated(pool, min(file_bytes, size - start), Random(number))
        named = (Document(d.text, d.component, f"{number}-{d.id}", "", {}) for d in part)
        jsonl_zst.write_documents(str(folder / f"{number:02d}.jsonl.zst"), named, 3)


def peak_bytes() -> int:
    """Peak resident set of this process since `forget_peak`."""
    status = Path("/proc/self/status").read_text()
    return next(int(x.split()[1]) << 10 for x in status.splitlines() if x.startswith("VmHWM"))


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def build_once(source: str, out: str) -> dict[str, Any]:
    start, cpu = time.monotonic(), time.process_time()
    reference = build.build_corpus(build.CorpusRequest((source,), out))
    return {
        "documents": reference.documents,
        "bytes": reference.bytes,
        "peak_bytes": peak_bytes(),
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.monotonic() - start,
    }


def stages_once(documents: int, folder: str) -> dict[str, Any]:
    """Deduplicate and mix so many short documents; what these two stages add to the process."""
    random = np.random.default_rng(1)
    catalog = load_catalog("pile").model_copy(update={"mixture": "natural", "total_bytes": None})
    rules = stage.Rules(catalog, 0, "near", 0.01, 0.02, 32 << 20, None, False, False)
    with index.writer(f"{folder}/clean/0", near=True) as rows:
        for number in range(documents):
            words = random.integers(0, 1 << 20, 8)
            text = " ".join(map(str, words.tolist()))
            rows.add(Document(text, "Pile-CC", f"made-{number}", "made", {}), text.encode(), "0")
    cleaned = [stage.Done(f"{folder}/clean/0", rows.documents, rows.bytes, False)]
    row = {"input": "0", "in": {"documents": rows.documents, "bytes": rows.bytes}}
    row |= {"kept": {"documents": 0, "bytes": 0}, "quarantined": {"documents": 0, "bytes": 0}}
    row |= {"dropped": {}, "duplicates": {}, "normalisation_bytes": 0, "sha256": "", "error": None}
    Path(f"{folder}/clean/0/result.json").write_text(json.dumps({"rows": [row]}))
    forget_peak()
    before, start = peak_bytes(), time.process_time()
    deduped = deduplicate.dedupe(cleaned, rules, folder)
    after_dedupe = peak_bytes()
    forget_peak()
    mix.mix_and_split(cleaned, deduped, rules, folder)
    return {
        "documents": documents,
        "dedupe_bytes": after_dedupe - before,
        "mix_bytes": peak_bytes() - before,
        "cpu_s": time.process_time() - start,
    }


def in_child(*given: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", *given]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def whole_builds(source: str, sizes: list[int]) -> list[dict[str, Any]]:
    pool = windows(document.text for document in collect(source, SOURCE_BYTES))
    found = []
    for megabytes in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_source(pool, megabytes * 1_000_000, Path(folder) / "source")
            found.append(in_child("build", f"{folder}/source", f"{folder}/out"))
        one = found[-1]
        print(
            f"  {megabytes:6} MB  {one['documents']:9,} documents  "
            f"peak {one['peak_bytes'] / 1e6:6.0f} MB  {one['cpu_s']:7.1f} s of CPU",
            flush=True,
        )
    return found


def two_stages(counts: list[int]) -> list[dict[str, Any]]:
    found = []
    for documents in counts:
        with tempfile.TemporaryDirectory() as folder:
            found.append(in_child("stages", str(documents), folder))
        one = found[-1]
        print(
            f"  {documents:9,} documents  dedupe +{one['dedupe_bytes'] / 1e6:6.0f} MB  "
            f"mix +{one['mix_bytes'] / 1e6:6.0f} MB  {one['cpu_s']:6.1f} s of CPU",
            flush=True,
        )
    first, last = found[0], found[-1]
    for name in ("dedupe_bytes", "mix_bytes"):
        slope = (last[name] - first[name]) / max(1, last["documents"] - first["documents"])
        print(f"  {name:12} grows by {slope:6.1f} bytes a document")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--megabytes", default="20,200,2000")
    parser.add_argument("--documents", default="200000,1000000,3000000")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=3)
    given = parser.parse_args()
    if given.child:
        kind, first, second = given.child
        once = build_once(first, second) if kind == "build" else stages_once(int(first), second)
        print(json.dumps(once))
        return
    print("whole builds, one process")
    builds = whole_builds(given.data, [int(x) for x in given.megabytes.split(",")])
    print("deduplication and mixing, short documents")
    stages = two_stages([int(x) for x in given.documents.split(",")])
    if given.json:
        given.json.write_text(json.dumps({"builds": builds, "stages": stages}, indent=2))


if __name__ == "__main__":
    main()
