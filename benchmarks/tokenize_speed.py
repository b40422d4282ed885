"""Encoding speed beside the tokenizers library, one thread, identical ids checked.

    python benchmarks/tokenize_speed.py [--corpus URL] [--vocabulary 32000] [--json FILE]

Text: this machine's own (the catalog `local`), or any Pile-format jsonl.zst. Reported: millions of
UTF-8 bytes a CPU second, each the best of three, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}

from seamount.core.records import Document
from seamount.corpora.text import inputs
from seamount.corpora.text.tokenizer import train_tokenizer

ROUNDS = 3


def texts(source: str, limit_bytes: int) -> list[str]:
    """Texts of a source, up to `limit_bytes`."""
    found: list[str] = []
    left = limit_bytes
    for one in inputs.expand((source,), limit_bytes):
        for record in inputs.read(one):
            if isinstance(record, Document) and left > 0:
                found.append(record.text)
                left -= len(record.text.encode())
    return found


def best_cpu_s(work: Callable[[], object]) -> float:
    """Least CPU time of some rounds."""
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="local")
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--max-bytes", type=int, default=16_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    documents = texts(given.corpus, given.max_bytes)
    size_mb = sum(len(text.encode()) for text in documents) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = train_tokenizer(iter(documents), given.vocabulary, folder)
        mine = tokenizer.encode_batch(documents)  # compiles, and fills the table of words
        backend = tokenizer.backend
        theirs = [
            backend.encode_batch_fast([t], add_special_tokens=False)[0].ids for t in documents
        ]
        own_s = best_cpu_s(lambda: tokenizer.encode_arrays(documents))
        library_s = best_cpu_s(
            lambda: backend.encode_batch_fast(documents, add_special_tokens=False)
        )
    result = {
        "megabytes": size_mb,
        "tokens": sum(map(len, theirs)),
        "identical_ids": mine == theirs,
        "seamount_mb_per_cpu_s": size_mb / own_s,
        "tokenizers_mb_per_cpu_s": size_mb / library_s,
        "ratio": library_s / own_s,
    }
    for name, value in result.items():
        print(f"{name:<26} {value:,.2f}" if isinstance(value, float) else f"{name:<26} {value}")
    if given.json:
        given.json.write_text(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
