"""Repeated passages on one core, beside a suffix array of the same bytes: `make bench`.

Claim: the same cuts, to the byte, as a suffix array (pydivsufsort) with its table of common
prefixes gives, in less CPU time and with memory that does not grow with the text. Both read the
same file, each in a process of its own; CPU time of one thread, the best of the rounds, in which
both take turns; memory is the peak of the process less what it held before its first document.
`--alike` adds texts that are hard for either: many copies of one notice, notices with a number in
each, a run of one byte.

    python benchmarks/substring_speed.py [--data URL] [--bytes 24000000] [--length 200]
                                         [--memory 64] [--alike 8000000] [--no-peer] [--json FILE]

Texts: this machine's own (the catalog `local`), or any Pile-format jsonl.zst.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from peers import python_of
from read_speed import collect

ROUNDS = 3
DIVSUFSORT = ("pydivsufsort==0.0.20", "numpy>=2.2")
START = """
import hashlib, json, sys, time
import numpy as np
def held(which):  # of this process alone: ru_maxrss begins at what its parent held
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which)) * 1024
folder, length, memory = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sizes = np.load(folder + "/sizes.npy")
"""
END = """
taken = time.process_time() - start
rows = np.array(cuts, np.int64).reshape(-1, 3)
told = {"cpu_s": taken, "memory_bytes": held("VmHWM:") - before, "cuts": len(rows),
        "cut_bytes": int((rows[:, 2] - rows[:, 1]).sum()), "work": vars(work) if work else {},
        "sha256": hashlib.sha256(rows.tobytes()).hexdigest()}
print(json.dumps(told))
"""
MINE = f"""{START}
from seamount.corpora.text.dedupe import substrings
def documents():
    with open(folder + "/text", "rb") as stream:
        for number, size in enumerate(sizes.tolist()):
            yield number, stream.read(size)
few = [(n, bytes([n % 2 + 97]) * 3 * length + b"left" * length + b"edge") for n in range(4)]
list(substrings.find(lambda: few, folder, length))  # compiled
list(substrings.find(lambda: [(0, b"abc" * length), (1, b"d" + b"abc" * length)], folder, length))
before, start, work = held("VmRSS:"), time.process_time(), substrings.Work()
cuts = list(substrings.find(documents, folder, length, memory, work))
{END}"""
# Windows with LCP >= length stand side by side in a suffix array; the least place is the first.
PEER = f"""{START}
from pydivsufsort import divsufsort, kasai
before, start, work = held("VmRSS:"), time.process_time(), None
text = np.fromfile(folder + "/text", np.uint8)
array = divsufsort(text)
alike = kasai(text, array)[: len(array) - 1] >= length
ends = np.cumsum(sizes)
group = np.r_[0, np.flatnonzero(~alike) + 1]
document = np.searchsorted(ends, array, "right")
inside = array + length <= ends[document]
first = np.minimum.reduceat(np.where(inside, array, len(text)), group)
first = np.repeat(first, np.diff(np.r_[group, len(array)]))
first_document = np.searchsorted(ends, first, "right")
again = inside & ((first_document < document) | (first + length <= array))
steps = np.zeros(len(text) + 1, np.int64)
np.add.at(steps, array[again], 1)
np.add.at(steps, array[again] + length, -1)
marked = np.cumsum(steps)[:-1] > 0
before_it = np.r_[False, marked[:-1]]
begins = np.zeros(len(text), bool)
begins[(ends - sizes)[sizes > 0]] = True
starts = np.flatnonzero(marked & (~before_it | begins))
after = np.r_[~marked[1:] | begins[1:], True]
stops = np.flatnonzero(marked & after) + 1
place = np.searchsorted(ends, starts, "right")
inner = np.r_[(text & 0xC0) == 0x80, False]  # inside a character
for _ in range(3):
    starts += inner[starts] & (starts < ends[place])
    stops -= inner[stops] & (stops < ends[place])
base = (ends - sizes)[place]
cuts = np.stack([place, starts - base, stops - base], 1)[starts < stops]
{END}"""


def alike_texts(size: int) -> list[bytes]:
    """A third each: one notice again and again, notices that differ in a number, one byte."""
    notice = ("Permission is hereby granted to anyone who asks for it in writing. " * 9).encode()
    notice = b"".join(bytes(b"%d " % n) + notice[n : n + 60] for n in range(20))
    third = size // 3
    same = [notice] * (third // len(notice))
    numbered = [b"%s%07d%s" % (notice[:300], n, notice[300:600]) for n in range(third // 607)]
    return [*same, *numbered, b"=" * third]


def run(python: str, code: str, folder: Path, length: int, memory: int) -> dict[str, Any]:
    given = [python, "-c", code, str(folder), str(length), str(memory)]
    done = subprocess.run(given, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def measure(texts: Iterable[bytes], given: argparse.Namespace) -> dict[str, Any]:
    import numpy as np

    tools = {"seamount": (sys.executable, MINE)}
    if not given.no_peer:
        tools["pydivsufsort"] = (python_of("divsufsort", DIVSUFSORT), PEER)
    best: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [len(text) for text in texts]
        np.save(folder / "sizes.npy", np.array(sizes, np.int64))
        (folder / "text").write_bytes(b"".join(texts))
        for _ in range(ROUNDS):
            for tool, (python, code) in tools.items():
                told = run(python, code, folder, given.length, given.memory << 20)
                if tool not in best or told["cpu_s"] < best[tool]["cpu_s"]:
                    best[tool] = told
    for told in best.values():
        told["mb_per_cpu_s"] = sum(sizes) / 1e6 / told["cpu_s"]
    return best


def report(name: str, texts: list[bytes], best: dict[str, Any]) -> bool:
    size = sum(len(text) for text in texts)
    mine = best["seamount"]
    work = mine["work"]
    print(f"{name}: {len(texts):,} documents, {size / 1e6:.1f} MB")
    for tool, told in best.items():
        print(
            f"  {tool:12} {told['mb_per_cpu_s']:7.1f} MB/s of CPU time, "
            f"{told['memory_bytes'] / 1e6:7.1f} MB at the peak, {told['cuts']:,} cuts of "
            f"{told['cut_bytes']:,} bytes"
        )
    print(
        f"  sorted in scratch: {work['scratch_bytes'] / size:.2f} bytes a byte "
        f"({work['contexts']:,} contexts, {work['windows']:,} windows)"
    )
    peer = best.get("pydivsufsort", mine)
    same = bool(peer["sha256"] == mine["sha256"])
    if peer is not mine:
        print(
            f"  seamount / pydivsufsort: {mine['mb_per_cpu_s'] / peer['mb_per_cpu_s']:.1f} times "
            f"the speed, {peer['memory_bytes'] / max(1, mine['memory_bytes']):.1f} times less "
            f"memory; the same cuts: {'yes' if same else 'NO'}"
        )
    return same


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", default="local")
    parser.add_argument("--bytes", type=int, default=24_000_000)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--memory", type=int, default=64, help="for seamount, in MiB")
    parser.add_argument("--alike", type=int, default=8_000_000)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    sets = {
        given.data: [d.text.encode() for d in collect(given.data, given.bytes)],
        "alike": alike_texts(given.alike),
    }
    results = {name: measure(texts, given) for name, texts in sets.items() if texts}
    same = [report(name, sets[name], best) for name, best in results.items()]
    if given.json:
        given.json.write_text(json.dumps(results, indent=2))
    if not all(same):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
