"""Sorted band files: for a segment of documents the keys of every band in order, read by ranges.

A file holds the digests of its documents (run 0) and, of those with words, one run a band. Each
run is sorted by key, with the rows it belongs to, and cut at every value of the key's first byte,
so that the documents whose keys begin alike are found in all files without reading the rest.

Layout, little-endian: counts uint32 [2] (documents, those with words); cuts uint32 [1 + B, 257];
run 0: high uint64 [n], low uint64 [n], row uint32 [n]; run b: key uint64 [m], row uint32 [m]; the
sketches uint8 [n, K].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from seamount.core import storage
from seamount.corpora.text.dedupe import minhash

EXACT = 0
RUNS = 1 + minhash.BANDS
SLOTS = 256
_SHIFT = np.uint64(56)
_KEY, _ROW = np.dtype("<u8"), np.dtype("<u4")
_HEAD_BYTES = 8 + 4 * RUNS * (SLOTS + 1)


def write(stream: IO[bytes], digests: bytes, keys_MB: Any, rows_M: Any, sketches_NK: Any) -> None:
    """Write one file: 16-byte `digests` of N documents, keys of the M with words, and sketches.

    Without near deduplication `keys_MB` and `sketches_NK` have no rows.
    """
    high, low = np.frombuffer(digests, ">u8").astype(_KEY).reshape(-1, 2).T
    order = np.lexsort((low, high))
    runs: list[tuple[np.ndarray, ...]] = [(high[order], low[order], order.astype(_ROW))]
    for band in range(minhash.BANDS):
        column = np.ascontiguousarray(keys_MB[:, band])
        order = np.argsort(column, kind="stable")
        runs.append((column[order], rows_M[order].astype(_ROW)))
    starts = np.arange(1, SLOTS, dtype=_KEY) << _SHIFT
    cuts = [np.r_[0, np.searchsorted(run[0], starts), len(run[0])] for run in runs]
    stream.write(np.array([len(high), len(rows_M)], _ROW).tobytes())
    stream.write(np.array(cuts, _ROW).tobytes())
    for run in runs:
        for array in run:
            stream.write(array.tobytes())
    stream.write(np.ascontiguousarray(sketches_NK, np.uint8).tobytes())


@dataclass(frozen=True)
class BandFile:
    """One file, opened for ranges; `first` is the number of its first document in the corpus."""

    url: str
    first: int
    documents: int
    with_words: int
    cuts: np.ndarray

    @classmethod
    def open(cls, url: str, first: int) -> BandFile:
        """Read the head of the file at `url`."""
        with storage.open_read(url) as stream:
            head = stream.read(_HEAD_BYTES)
        documents, with_words = np.frombuffer(head[:8], _ROW).tolist()
        cuts = np.frombuffer(head[8:], _ROW).reshape(RUNS, SLOTS + 1)
        return cls(url, first, documents, with_words, cuts)

    def range(self, run: int, low: int, high: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Keys, low halves (run 0 only, else empty) and document numbers whose key's first byte is
        from `low` to below `high`, sorted by key.
        """
        start, end = self.cuts[run, low], self.cuts[run, high]
        count = int(end - start)
        length = self.documents if run == EXACT else self.with_words
        base = self._base(run)
        with storage.open_read(self.url) as stream:
            keys = _array(stream, base + 8 * start, count, _KEY)
            base += 8 * length
            lows = np.empty(0, _KEY)
            if run == EXACT:
                lows = _array(stream, base + 8 * start, count, _KEY)
                base += 8 * length
            rows = _array(stream, base + 4 * start, count, _ROW)
        return keys, lows, rows.astype(np.int64) + self.first

    def sketches(self) -> np.ndarray:
        """Sketches (uint8 [N, K]) of all its documents; no rows where none were written."""
        with storage.open_read(self.url) as stream:
            stream.seek(self._base(RUNS))
            data = stream.read()
        return np.frombuffer(data, np.uint8).reshape(-1, minhash.HASHES)

    def _base(self, run: int) -> int:
        exact = 20 * self.documents if run > EXACT else 0
        return _HEAD_BYTES + exact + 12 * self.with_words * max(0, run - 1)


def _array(stream: Any, start: Any, count: int, kind: np.dtype) -> np.ndarray:
    stream.seek(int(start))
    return np.frombuffer(stream.read(count * kind.itemsize), kind)
