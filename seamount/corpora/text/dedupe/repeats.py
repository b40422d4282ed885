"""Lines and paragraphs that stood in the corpus before, from sorted files of their digests.

Of equal ones the first stays, by number of the document and place in it. Memory: one range of
digests, and 20 bytes a document. What is found comes by digest; it is put in the order of the
documents by way of a scratch file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from seamount.corpora.text.dedupe.unit_files import SLOTS, UnitFile

# Units at hand, with what sorting them takes; more than one slot only if they fit.
_RANGE_BYTES = 256 << 20
_BYTES_A_UNIT = 96
# Repeats that are put in order at once.
_BLOCK = 1 << 21
_COLUMNS: tuple[np.dtype, ...] = tuple(map(np.dtype, ("i8", "u4", "u4", "u1")))


@dataclass(frozen=True)
class Repeats:
    """What goes [R], sorted by number and start, disjoint: the number of the document, bytes
    [start, end) of its text, and the kind (its place in units.KINDS).
    """

    number: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kind: np.ndarray


def find(
    files: Sequence[UnitFile],
    size: int,
    stands: Callable[[np.ndarray], np.ndarray],
    scratch: str | None = None,
) -> Iterator[Repeats]:
    """All repeats among the `size` documents, a block of them at a time.

    `files` follow one another in the order of reading; `stands` says of numbers whether those
    documents are there at all (no copies). A document of which only white space would be left goes
    as a whole, in one piece. `scratch` is a local folder with room for 17 bytes a repeat.
    """
    with ExitStack() as stack:
        found = _Spill(stack, scratch)
        for low, high in _slots(files):
            for repeats in _repeated(files, low, high, stands):
                found.add(repeats)
        yield from found.blocks(size, _whole(files, size))


def _slots(files: Sequence[UnitFile]) -> Iterator[tuple[int, int]]:
    total = sum(file.units for file in files)
    step = max(1, min(SLOTS, SLOTS * _RANGE_BYTES // max(1, total * _BYTES_A_UNIT)))
    return ((low, min(SLOTS, low + step)) for low in range(0, SLOTS, step))


def _repeated(
    files: Sequence[UnitFile],
    low: int,
    high: int,
    stands: Callable[[np.ndarray], np.ndarray],
) -> Iterator[Repeats]:
    """Repeats of a range of digests, sorted by number and start.

    Of what came before only the distinct digests are kept, so that one line in every document
    fills no memory.
    """
    seen = np.empty((2, 0), np.uint64)
    for group in _groups(files, low, high):
        parts = [file.range(low, high) for file in group]
        numbers = [p["row"].astype(np.int64) + f.first for p, f in zip(parts, group, strict=True)]
        number, entries = np.concatenate(numbers), np.concatenate(parts)
        there = stands(number)
        number, entries = number[there], entries[there]
        old = seen.shape[1]
        keys = np.stack([entries["high"], entries["low"]]).astype(np.uint64)
        keys = np.concatenate([seen, keys], axis=1)
        order = np.lexsort(keys[::-1])  # stable: those seen come first, the rest as they were read
        keys = keys[:, order]
        again = np.zeros(len(order), bool)
        again[1:] = (keys[:, 1:] == keys[:, :-1]).all(axis=0)
        seen = keys[:, ~again]
        at = order[again] - old
        at = at[np.lexsort((entries["start"][at], number[at]))]
        columns = (entries[name][at] for name in ("start", "stop", "kind"))
        yield Repeats(number[at], *columns)


def _groups(files: Sequence[UnitFile], low: int, high: int) -> Iterator[list[UnitFile]]:
    """Files in their order, so many together as fit at once."""
    group: list[UnitFile] = []
    room = most = _RANGE_BYTES // _BYTES_A_UNIT
    for file in files:
        count = file.count(low, high)
        if group and count > room:
            yield group
            group, room = [], most
        group.append(file)
        room -= count
    if group:
        yield group


def _whole(files: Sequence[UnitFile], size: int) -> np.ndarray:
    """Units of each document that is made of nothing else, and its bytes (uint32 [2, size]); 0."""
    whole = np.zeros((2, size), np.uint32)
    for file in files:
        found = file.whole()
        whole[:, found["row"].astype(np.int64) + file.first] = found["units"], found["bytes"]
    return whole


class _Spill:
    """Repeats as they are found, in one scratch file a column; each addition is a sorted run."""

    def __init__(self, stack: ExitStack, scratch: str | None) -> None:
        self.streams: list[Any] = [
            stack.enter_context(tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115
            for _ in _COLUMNS
        ]
        self.runs = [0]

    def add(self, repeats: Repeats) -> None:
        columns = (repeats.number, repeats.start, repeats.end, repeats.kind)
        for stream, column, kind in zip(self.streams, columns, _COLUMNS, strict=True):
            stream.write(column.astype(kind, copy=False).tobytes())
        if len(repeats.number):
            self.runs.append(self.runs[-1] + len(repeats.number))

    def blocks(self, size: int, whole: np.ndarray) -> Iterator[Repeats]:
        """Everything, sorted; `whole` as by `_whole`."""
        if self.runs[-1] == 0:
            return
        columns = [self._mapped(s, k) for s, k in zip(self.streams, _COLUMNS, strict=True)]
        runs = [slice(a, b) for a, b in zip(self.runs, self.runs[1:], strict=False)]
        counts = np.zeros(size, np.uint32)
        for run in runs:
            np.add.at(counts, columns[0][run], 1)
        for first, last in _bounds(counts):
            pieces = [
                slice(*(run.start + np.searchsorted(columns[0][run], (first, last))))
                for run in runs
            ]
            block = [np.concatenate([column[piece] for piece in pieces]) for column in columns]
            order = np.lexsort((block[1], block[0]))
            yield _emptied(Repeats(*(column[order] for column in block)), counts, whole)

    @staticmethod
    def _mapped(stream: Any, kind: np.dtype) -> np.ndarray:
        stream.flush()
        return np.asarray(np.memmap(stream, kind, "r"))


def _bounds(counts: np.ndarray) -> Iterator[tuple[int, int]]:
    """Ranges of documents with at most so many repeats as a block has (one document at least)."""
    ends = np.cumsum(counts, dtype=np.int64)
    first, size = 0, len(counts)
    while first < size and ends[-1] > (before := int(ends[first - 1]) if first else 0):
        last = max(first + 1, int(np.searchsorted(ends, before + _BLOCK, "right")))
        yield first, last
        first = last


def _emptied(found: Repeats, counts: np.ndarray, whole: np.ndarray) -> Repeats:
    """`found` with one piece for each document whose units all go and that has nothing else."""
    units, sizes = whole
    all_of_it = counts[found.number] == units[found.number]
    first = np.r_[True, found.number[1:] != found.number[:-1]][: len(found.number)]
    kept = ~all_of_it | first
    number = found.number[kept]
    start = np.where(all_of_it, 0, found.start)[kept]
    end = np.where(all_of_it, sizes[found.number], found.end)[kept]
    return Repeats(number, start, end, found.kind[kept])
