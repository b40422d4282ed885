"""Rows of numbers, given in any order and read back sorted, in bounded memory.

What does not fit is sorted by parts (runs) into one file of the scratch folder, which is gone
after, and merged as it is read: an external merge sort. Neither many equal rows nor any other
skew of the keys takes more memory.

Legend: N rows, C columns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

import numba
import numpy as np

from seamount.core.errors import explain_os_error

# However small the memory, a merge holds so many rows of each run.
_LEAST_ROWS = 64
# More runs than this are merged to fewer, longer ones first.
_RUNS_AT_ONCE = 64
_NUMBER = np.dtype("<u8")


class SortedRows:
    """Takes rows (uint64 [N, C]) and gives them back in the order of their first `keys` columns;
    those that are equal in all of them follow one another in any order.

    `memory_bytes` bounds what is held while adding, and again while reading.
    """

    def __init__(self, scratch: str, columns: int, keys: int, memory_bytes: int) -> None:
        self.keys, self.columns = keys, columns
        # a row, its place in the order, and the copies that sorting and merging make
        self.capacity = max(_LEAST_ROWS, memory_bytes // (3 * 8 * columns + 24))
        self.rows = 0
        self._buffer = np.empty((self.capacity, columns), _NUMBER)  # touched only as it fills
        self._held = 0
        self._scratch = scratch
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []  # of each the first row and the one after the last

    def add(self, rows_NC: np.ndarray) -> None:
        """Take more rows."""
        done = 0
        while done < len(rows_NC):
            part = rows_NC[done : done + self.capacity - self._held]
            self._buffer[self._held : self._held + len(part)] = part
            self._held += len(part)
            done += len(part)
            if self._held == self.capacity:
                self._spill()
        self.rows += done

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows in order, some at a time. To be read once, after the last `add`."""
        if self._file is None:
            held = self._buffer[: self._held]
            order = sorting_order(held, self.keys)
            step = max(_LEAST_ROWS, self.capacity // 2)
            for start in range(0, len(order), step):
                yield held[order[start : start + step]]
            return
        self._spill()
        self._buffer = np.empty((0, self.columns), _NUMBER)
        while len(self._runs) > _RUNS_AT_ONCE:
            self._merge_to_fewer()
        with self._file:
            yield from self._merge(self._runs)

    def _spill(self) -> None:
        held = self._buffer[: self._held]
        order = sorting_order(held, self.keys)
        step = 1 << 16
        self._file = self._file or self._new_file()
        self._write_run(
            self._file, (held[order[at : at + step]] for at in range(0, len(order), step))
        )
        self._held = 0

    def _new_file(self) -> IO[bytes]:
        try:
            return tempfile.TemporaryFile(dir=self._scratch)
        except OSError as error:
            raise explain_os_error(error, f"sorting in {self._scratch}") from error

    def _write_run(self, file: IO[bytes], blocks: Iterable[np.ndarray]) -> None:
        first = end = self._runs[-1][1] if self._runs else 0
        try:
            for block in blocks:
                file.write(block.data)
                end += len(block)
        except OSError as error:
            raise explain_os_error(error, f"sorting in {self._scratch}") from error
        self._runs.append((first, end))

    def _merge_to_fewer(self) -> None:
        many, self._runs = self._runs, []
        file = self._new_file()
        for first in range(0, len(many), _RUNS_AT_ONCE):
            self._write_run(file, self._merge(many[first : first + _RUNS_AT_ONCE]))
        if self._file is not None:
            self._file.close()
        self._file = file

    def _merge(self, runs: list[tuple[int, int]]) -> Iterator[np.ndarray]:
        """Of all runs at once the rows up to the least of the last ones at hand, again and again:
        none that is still on disk can come before them.
        """
        step = max(_LEAST_ROWS, self.capacity // (2 * len(runs)))
        heads = [np.empty((0, self.columns), _NUMBER)] * len(runs)
        left = list(runs)
        while True:
            for run, (start, end) in enumerate(left):
                if start < end and len(heads[run]) <= step // 2:
                    more = self._read(start, min(end - start, step - len(heads[run])))
                    heads[run] = np.concatenate([heads[run], more])
                    left[run] = (start + len(more), end)
            ends = [heads[run][-1] for run, (start, end) in enumerate(left) if start < end]
            if ends:
                bound = min(ends, key=lambda row: row[: self.keys].tolist())
                cuts = [_count_up_to(head, bound, self.keys) for head in heads]
            else:
                cuts = [len(head) for head in heads]
            ready = np.concatenate([head[:cut] for head, cut in zip(heads, cuts, strict=True)])
            yield ready[sorting_order(ready, self.keys)]
            if not ends:
                return
            heads = [head[cut:] for head, cut in zip(heads, cuts, strict=True)]

    def _read(self, first: int, count: int) -> np.ndarray:
        assert self._file is not None
        size = self.columns * _NUMBER.itemsize
        self._file.seek(first * size)
        data = self._file.read(count * size)
        return np.frombuffer(data, _NUMBER).reshape(count, self.columns)


def sorting_order(rows_NC: np.ndarray, keys: int) -> np.ndarray:
    """The order (int64 [N]) of rows by their first `keys` columns; equal ones stay as they are.

    The later columns are looked at only where the first is equal.
    """
    order = np.argsort(np.ascontiguousarray(rows_NC[:, 0]), kind="stable")
    if _is_sorted(rows_NC, order, keys):  # often, for rows mostly come in the order of the last key
        return np.asarray(order)
    first = rows_NC[order, 0]
    equal = first[1:] == first[:-1]
    tied = np.flatnonzero(np.r_[equal, False] | np.r_[False, equal])
    rows = rows_NC[order[tied]]
    within = np.lexsort([rows[:, column] for column in reversed(range(keys))])
    order[tied] = order[tied][within]
    return np.asarray(order)


@numba.njit(cache=True, nogil=True)
def _is_sorted(rows, order, keys):  # type: ignore[no-untyped-def]
    for at in range(1, len(order)):
        before, here = order[at - 1], order[at]
        for key in range(keys):
            if rows[before, key] != rows[here, key]:
                if rows[before, key] > rows[here, key]:
                    return False
                break
    return True


@numba.njit(cache=True, nogil=True)
def _count_up_to(rows, bound, keys):  # type: ignore[no-untyped-def]
    """How many of the sorted rows come no later than `bound`."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        later = False
        for key in range(keys):
            if rows[middle, key] != bound[key]:
                later = rows[middle, key] > bound[key]
                break
        if later:
            high = middle
        else:
            low = middle + 1
    return low
