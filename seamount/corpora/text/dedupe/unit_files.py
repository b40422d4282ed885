"""Sorted files of the digests of lines and paragraphs, read by ranges of the digest.

A file holds a run of units of one batch, sorted by digest and cut at every value of its first
twelve bits. So few units begin alike that those of a large corpus fit in memory, range by range.

Layout: counts uint32 [2], little-endian (units; documents that are made of nothing else); cuts
uint32 [SLOTS + 1]; the units, ENTRY each; those documents, WHOLE each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO

import numpy as np

from seamount.core import storage

SLOTS = 1 << 12
_SHIFT = np.uint64(64 - 12)
_COUNT = np.dtype("<u4")
# A unit: its digest, its document's number in the batch, its bytes in the text, its kind.
ENTRY = np.dtype(
    [("high", ">u8"), ("low", ">u8"), ("row", "<u4"), ("start", "<u4"), ("stop", "<u4"),
     ("kind", "u1")]
)  # fmt: skip
# A document without a word outside its units: how many those are, and the bytes of its text.
WHOLE = np.dtype([("row", "<u4"), ("units", "<u4"), ("bytes", "<u4")])
MOST_BYTES = (1 << 32) - 1
_HEAD_BYTES = 8 + 4 * (SLOTS + 1)


def write(stream: IO[bytes], entries: bytes, whole: bytes) -> None:
    """Write one file of `entries` (ENTRY each, in the order of reading) and `whole` documents."""
    found = np.frombuffer(entries, ENTRY)
    high, low = found["high"].astype(np.uint64), found["low"].astype(np.uint64)
    order = np.lexsort((low, high))  # stable: equal ones stay in their order
    starts = np.arange(1, SLOTS, dtype=np.uint64) << _SHIFT
    cuts = np.r_[0, np.searchsorted(high[order], starts), len(found)]
    stream.write(np.array([len(found), len(whole) // WHOLE.itemsize], _COUNT).tobytes())
    stream.write(cuts.astype(_COUNT).tobytes())
    stream.write(found[order].tobytes())
    stream.write(whole)


@dataclass(frozen=True)
class UnitFile:
    """One file, opened for ranges; `first` is the corpus's number of its batch's document 0."""

    url: str
    first: int
    units: int
    cuts: np.ndarray

    @classmethod
    def open(cls, url: str, first: int) -> UnitFile:
        """Read the head of the file at `url`."""
        with storage.open_read(url) as stream:
            head = stream.read(_HEAD_BYTES)
        units = int(np.frombuffer(head[:4], _COUNT)[0])
        return cls(url, first, units, np.frombuffer(head[8:], _COUNT))

    def count(self, low: int, high: int) -> int:
        """How many units have a digest whose first bits are from `low` to below `high`."""
        return int(self.cuts[high]) - int(self.cuts[low])

    def range(self, low: int, high: int) -> np.ndarray:
        """Those units (ENTRY), sorted by digest, equal ones in the order of reading."""
        with storage.open_read(self.url) as stream:
            stream.seek(_HEAD_BYTES + ENTRY.itemsize * int(self.cuts[low]))
            return np.frombuffer(stream.read(ENTRY.itemsize * self.count(low, high)), ENTRY)

    def whole(self) -> np.ndarray:
        """The documents (WHOLE) that are made of units alone."""
        with storage.open_read(self.url) as stream:
            stream.seek(_HEAD_BYTES + ENTRY.itemsize * self.units)
            return np.frombuffer(stream.read(), WHOLE)
