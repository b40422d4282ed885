"""Reading and writing jsonl.zst on one core, beside datatrove and bare zstd: `make bench`.

Claim: documents are read at twice datatrove's rate and at 60 % of what one-shot zstd decompression
of the same bytes takes; a read and write round trip at 2.5 times datatrove's, same level, one
thread. Process CPU time; rounds of all take turns, the best of each counts.

    python benchmarks/read_speed.py [--data URL] [--bytes 24000000] [--peer PYTHON] [--json FILE]

Texts: this machine's own (the catalog `local`), or any Pile-format jsonl.zst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard
from peers import python_of

from seamount.core.records import Document
from seamount.corpora.text import inputs, jsonl_zst

LEVEL = 3
ROUNDS = 5
PEER = ("datatrove[io]==0.10.1", "zstandard", "orjson")
PEER_CODE = """
import json, sys, time
from loguru import logger
logger.remove()
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
folder, out = sys.argv[1:]
def documents():
    return JsonlReader(folder, glob_pattern="*.zst", compression="zstd", text_key="text").run()
start = time.process_time()
count = sum(1 for _ in documents())
read = time.process_time() - start
start = time.process_time()
writer = JsonlWriter(out, output_filename="${rank}.jsonl.zst", compression="zstd")
for _ in writer.run(documents()):
    pass
print(json.dumps({"documents": count, "read": read, "round trip": time.process_time() - start}))
"""


def collect(source: str, limit: int) -> Iterator[Document]:
    left = limit
    for one in inputs.expand((source,), limit):
        for record in inputs.read(one):
            if left > 0 and isinstance(record, Document):
                left -= len(record.text.encode())
                yield record


def cpu_s(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def read(files: list[Path]) -> int:
    return sum(1 for file in files for _ in jsonl_zst.read_documents(str(file)))


def round_trip(files: list[Path], out: Path) -> None:
    for file in files:
        records = jsonl_zst.read_documents(str(file))
        documents = (r for r in records if isinstance(r, Document))
        jsonl_zst.write_documents(str(out / file.name), documents, LEVEL)


def one_shot(files: list[Path]) -> None:
    for file in files:
        zstandard.ZstdDecompressor().decompressobj().decompress(file.read_bytes())


def measure(files: list[Path], python: str, scratch: Path) -> dict[str, float]:
    taken: dict[str, list[float]] = {}
    for number in range(ROUNDS):
        given = [python, "-c", PEER_CODE, str(files[0].parent), str(scratch / f"peer{number}")]
        done = subprocess.run(given, check=True, capture_output=True, text=True)
        peer = json.loads(done.stdout.splitlines()[-1])
        assert 0 < peer["documents"] <= read(files)  # it drops empty texts without a word
        found = {
            "zstd one-shot": cpu_s(lambda: one_shot(files)),
            "read, seamount": cpu_s(lambda: read(files)),
            "read, datatrove": peer["read"],
            "round trip, seamount": cpu_s(lambda: round_trip(files, scratch / "own")),
            "round trip, datatrove": peer["round trip"],
        }
        for name, seconds in found.items():
            taken.setdefault(name, []).append(seconds)
    return {name: min(seconds) for name, seconds in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--bytes", type=int, default=24_000_000)
    parser.add_argument("--peer")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    python = given.peer or python_of("datatrove", PEER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data" / "00.jsonl.zst"
        written = jsonl_zst.write_documents(str(file), collect(given.data, given.bytes), LEVEL)
        size = len(zstandard.ZstdDecompressor().decompressobj().decompress(file.read_bytes())) / 1e6
        seconds = measure([file], python, Path(folder))
    print(f"{written.documents:,} documents, {size:.1f} MB of lines, zstd level {LEVEL}")
    rates = {name: size / s for name, s in seconds.items()}
    for name, rate in rates.items():
        print(f"  {name:24} {rate:8.1f} MB/s of CPU time")
    ratios = {
        "read / one-shot zstd": rates["read, seamount"] / rates["zstd one-shot"],
        "read / datatrove": rates["read, seamount"] / rates["read, datatrove"],
        "round trip / datatrove": rates["round trip, seamount"] / rates["round trip, datatrove"],
    }
    for name, ratio in ratios.items():
        print(f"  {name:24} {ratio:8.2f}")
    if given.json:
        given.json.write_text(json.dumps({"mb_per_cpu_s": rates, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
