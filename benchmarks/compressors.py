"""zstd beside gzip, bzip2 and xz on the lines of one corpus: ratio, speed, memory. `make bench`.

    python benchmarks/compressors.py [--data URL] [--bytes 24000000] [--json FILE]

Each codec works in a process of its own, on one thread, fed by pieces of 1 MB; CPU seconds, and the
growth of the largest resident size while it packs. Texts: the catalog `local`, or any jsonl.zst.
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
import bz2, json, lzma, sys, time, zlib
import zstandard
codec, path = sys.argv[1:]
name, level = codec.rsplit("-", 1)
level = int(level)
packer, unpack = {
    "zstd": (lambda: zstandard.ZstdCompressor(level=level, write_checksum=True).compressobj(),
             lambda d: zstandard.ZstdDecompressor().decompressobj().decompress(d)),
    "gzip": (lambda: zlib.compressobj(level, wbits=31), lambda d: zlib.decompress(d, wbits=31)),
    "bzip2": (lambda: bz2.BZ2Compressor(level), bz2.decompress),
    "xz": (lambda: lzma.LZMACompressor(preset=level), lzma.decompress),
}[name]
data = open(path, "rb").read()
def pack(keep):
    one, parts = packer(), []
    for start in range(0, len(data), 1 << 20):
        part = one.compress(data[start : start + (1 << 20)])
        parts += [part] * keep
    return b"".join([*parts, one.flush()])
def resident(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key))
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here on
before = resident("VmRSS")
start = time.process_time(); pack(False); spent = time.process_time() - start
grown = resident("VmHWM") - before
packed = pack(True)
start = time.process_time(); back = unpack(packed); unpacked = time.process_time() - start
assert back == data
print(json.dumps({"ratio": len(data) / len(packed), "pack_mb_s": len(data) / 1e6 / spent,
    "unpack_mb_s": len(data) / 1e6 / unpacked, "pack_memory_mb": grown * 1024 / 1e6}))
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
