"""zstd beside gzip, bzip2 and xz on the lines of one corpus: ratio, speed, memory. `make bench`.

    python benchmarks/compressors.py [--data URL] [--bytes 24000000] [--json FILE]

Each codec works in a process of its own, on one thread; CPU seconds, and the growth of the largest
resident size over what the data itself takes. Texts: the catalog `local`, or any jsonl.zst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from seamount.core.records import Document
from seamount.corpora.text import inputs, jsonl_zst

CODECS = ("zstd-3", "zstd-6", "zstd-19", "gzip-6", "bzip2-9", "xz-6")
CHILD = """
import bz2, gzip, json, lzma, resource, sys, time
import zstandard
codec, path = sys.argv[1:]
name, level = codec.rsplit("-", 1)
level = int(level)
data = open(path, "rb").read()
pack, unpack = {
    "zstd": (zstandard.ZstdCompressor(level=level, write_checksum=True).compress,
             zstandard.ZstdDecompressor().decompress),
    "gzip": (lambda d: gzip.compress(d, level), gzip.decompress),
    "bzip2": (lambda d: bz2.compress(d, level), bz2.decompress),
    "xz": (lambda d: lzma.compress(d, preset=level), lzma.decompress),
}[name]
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
start = time.process_time(); packed = pack(data); middle = time.process_time()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert unpack(packed) == data
print(json.dumps({"ratio": len(data) / len(packed), "pack_mb_s": len(data) / 1e6 / (middle - start),
    "unpack_mb_s": len(data) / 1e6 / (time.process_time() - middle),
    "pack_memory_mb": (grown * 1024 - len(packed)) / 1e6}))
"""


def lines(source: str, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    for one in inputs.expand((source,), limit):
        for record in inputs.read(one):
            if isinstance(record, Document) and size < limit:
                parts.append(jsonl_zst.encode_line(record))
                size += len(parts[-1])
    return b"".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--bytes", type=int, default=24_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        path.write_bytes(lines(given.data, given.bytes))
        print(f"{path.stat().st_size / 1e6:.1f} MB of lines, in one piece")
        print(f"{'':10} {'ratio':>7} {'pack MB/s':>10} {'unpack MB/s':>12} {'pack memory MB':>15}")
        for codec in CODECS:
            child = [sys.executable, "-c", CHILD, codec, str(path)]
            done = subprocess.run(child, check=True, capture_output=True, text=True)
            one = found[codec] = json.loads(done.stdout)
            print(
                f"{codec:10} {one['ratio']:7.2f} {one['pack_mb_s']:10.1f} "
                f"{one['unpack_mb_s']:12.1f} {one['pack_memory_mb']:15.1f}"
            )
    if given.json:
        given.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
