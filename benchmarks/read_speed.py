"""Reading and writing jsonl.zst on one core, beside datatrove and bare zstd: `make bench`.

Asked for: documents are read at twice datatrove's rate and at 60 % of what one-shot zstd
decompression of the same bytes takes; a read and write round trip at 2.5 times datatrove's, same
level, one thread. `decoded and dropped` is the floor: zstd, then msgspec makes a str of each text,
and no document. Process CPU time; all take turns in each round; medians of the rounds, and of the
rounds' ratios. docs/log.md says what is met.

    python benchmarks/read_speed.py [--data URL] [--bytes 24000000] [--peer PYTHON] [--json FILE]

Texts: this machine's own (the catalog `local`), or any Pile-format jsonl.zst.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import zstandard
from peers import python_of

from seamount.core.records import Document
from seamount.corpora.text import inputs, jsonl_zst, zstd_stream

LEVEL = 3
ROUNDS = 11
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
count = sum(1 for _ in documents())  # what is imported late is not timed
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


class Line(msgspec.Struct, gc=False):
    """The least that has to be made of a line: a str of its text."""

    text: str
    meta: msgspec.Raw = msgspec.Raw()


def decoded_and_dropped(files: list[Path]) -> None:
    decoder = msgspec.json.Decoder(Line)
    for file in files:
        with file.open("rb") as stream:
            for view in zstd_stream.line_views(stream, str(file)):
                decoder.decode_lines(view)


def peer_round(files: list[Path], python: str, out: Path) -> dict[str, float]:
    given = [python, "-c", PEER_CODE, str(files[0].parent), str(out)]
    done = subprocess.run(given, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    assert 0 < found["documents"] <= read(files)  # it drops empty texts without a word
    return found


def measure(files: list[Path], python: str, scratch: Path) -> list[dict[str, float]]:
    """Seconds of each work in each round."""
    taken = []
    for number in range(ROUNDS):
        peer = peer_round(files, python, scratch / f"peer{number}")
        found = {
            "zstd one-shot": cpu_s(lambda: one_shot(files)),
            "read, seamount": cpu_s(lambda: read(files)),
            "decoded and dropped": cpu_s(lambda: decoded_and_dropped(files)),
            "read, datatrove": peer["read"],
            "round trip, seamount": cpu_s(lambda: round_trip(files, scratch / "own")),
            "round trip, datatrove": peer["round trip"],
        }
        taken.append(found)
    return taken


def ratios_of(taken: list[dict[str, float]]) -> dict[str, float]:
    def ratio(faster: str, slower: str) -> float:
        return statistics.median(one[slower] / one[faster] for one in taken)

    return {
        "read / one-shot zstd": ratio("read, seamount", "zstd one-shot"),
        "floor / one-shot zstd": ratio("decoded and dropped", "zstd one-shot"),
        "read / datatrove": ratio("read, seamount", "read, datatrove"),
        "round trip / datatrove": ratio("round trip, seamount", "round trip, datatrove"),
    }


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
        taken = measure([file], python, Path(folder))
    print(f"{written.documents:,} documents, {size:.1f} MB of lines, zstd level {LEVEL}")
    rates = {name: size / statistics.median(one[name] for one in taken) for name in taken[0]}
    for name, rate in rates.items():
        print(f"  {name:24} {rate:8.1f} MB/s of CPU time")
    ratios = ratios_of(taken)
    for name, ratio in ratios.items():
        print(f"  {name:24} {ratio:8.2f}")
    if given.json:
        given.json.write_text(json.dumps({"mb_per_cpu_s": rates, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
