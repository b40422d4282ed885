"""Fingerprints for deduplication on one core, beside datatrove and rensa: `make bench`.

Claim: exact deduplication at 200 MB/s from jsonl.zst; text to MinHash band keys at 100 times
datatrove's first MinHash stage (14 x 8 hashes of word 5-grams) and 3 times rensa's RMinHash (120
hashes, word 5-grams made in Python, as its users make them). Process CPU time of one thread; the
best of three rounds, in which all take turns; datatrove on a part, for it takes long.

    python benchmarks/dedupe_speed.py [--data URL] [--bytes 24000000] [--peer-bytes 1000000]
                                      [--json FILE]

Texts: this machine's own (the catalog `local`), or any Pile-format jsonl.zst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from peers import python_of
from read_speed import collect

from seamount.core import storage
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.dedupe import matching, minhash
from seamount.corpora.text.stages import index, stage

ROUNDS = 3
DATATROVE = ("datatrove[processing]==0.10.1", "spacy==3.8.18")
RENSA = ("rensa==0.5.0",)
DATATROVE_CODE = """
import json, sys, time
from loguru import logger
logger.remove()
from datatrove.data import Document
from datatrove.pipeline.dedup import MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
texts = json.load(open(sys.argv[1]))
def run(texts):
    step = MinhashDedupSignature(sys.argv[2], config=MinhashConfig(
        num_buckets=14, hashes_per_bucket=8, n_grams=5))
    start = time.process_time()
    step.run([Document(text=text, id=str(n)) for n, text in enumerate(texts)], 0, 1)
    return time.process_time() - start
run(["the first call loads the tokenizer. " * 20])
print(run(texts))
"""
RENSA_CODE = """
import json, sys, time
from rensa import RMinHash
texts = json.load(open(sys.argv[1]))
start = time.process_time()
for text in texts:
    words = text.lower().split()
    shingles = [" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))]
    one = RMinHash(num_perm=120, seed=42)
    one.update(shingles)
    one.digest()
print(time.process_time() - start)
"""


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def fingerprints(texts: list[str]) -> None:
    """Signature, band keys and sketch of every text."""
    signer = minhash.Signer()
    for text in texts:
        signature = signer.sign(text.encode())
        minhash.band_keys(signature)
        minhash.sketch(signature)


def exact(file: Path, folder: Path) -> int:
    """Read, digest, index and find equal texts, as a build does it; how many are copies."""
    with index.writer(str(folder), near=False) as rows:
        for record in jsonl_zst.read_documents(str(file)):
            rows.add(record, record.text.encode(), "")  # type: ignore[arg-type, union-attr]
    done = stage.Done(str(folder), rows.documents, rows.bytes, False)
    found = matching.find(index.open_bands([done]), None)
    return int((found.exact != range(rows.documents)).sum())


def peer_s(python: str, code: str, texts: list[str], scratch: Path) -> float:
    storage.write_json(str(scratch / "texts.json"), texts)
    given = [python, "-c", code, str(scratch / "texts.json"), str(scratch / "peer")]
    done = subprocess.run(given, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def measure(file: Path, texts: list[str], few: list[str], scratch: Path) -> dict[str, Any]:
    whole, part = (sum(len(t.encode()) for t in some) / 1e6 for some in (texts, few))
    datatrove, rensa = python_of("datatrove-minhash", DATATROVE), python_of("rensa", RENSA)
    fingerprints(few)  # compiled
    taken: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        found = {
            "exact, from zst": cpu_s(partial(exact, file, scratch / f"exact{number}")) / whole,
            "MinHash bands, seamount": cpu_s(lambda: fingerprints(texts)) / whole,
            "MinHash, rensa": peer_s(rensa, RENSA_CODE, texts, scratch) / whole,
        }
        if number == 0:
            found["MinHash, datatrove"] = peer_s(datatrove, DATATROVE_CODE, few, scratch) / part
        for name, seconds in found.items():
            taken.setdefault(name, []).append(seconds)
    return {name: 1 / min(seconds) for name, seconds in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--bytes", type=int, default=24_000_000)
    parser.add_argument("--peer-bytes", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "00.jsonl.zst"
        documents = list(collect(given.data, given.bytes))
        jsonl_zst.write_documents(str(file), documents, 3)
        texts = [document.text for document in documents]
        few, size = [], 0
        for text in texts[:: max(1, len(texts) // 200)]:
            if size < given.peer_bytes:
                few.append(text)
                size += len(text.encode())
        rates = measure(file, texts, few, Path(folder))
    print(f"{len(texts):,} documents, {sum(len(t.encode()) for t in texts) / 1e6:.1f} MB of text")
    for name, rate in rates.items():
        print(f"  {name:26} {rate:8.2f} MB/s of CPU time")
    mine = rates["MinHash bands, seamount"]
    ratios = {n: mine / r for n, r in rates.items() if n.startswith("MinHash, ")}
    for name, ratio in ratios.items():
        print(f"  seamount / {name[9:]:15} {ratio:8.1f}")
    if given.json:
        given.json.write_text(json.dumps({"mb_per_cpu_s": rates, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
