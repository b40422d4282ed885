"""Which of a set of copies survives: the first by (component priority, id, number).

Numbers follow the order of reading, which another source would change; priority and id do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa

_AT_ONCE = 1 << 20
_KEYS = [(name, "ascending") for name in ("set", "priority", "id", "number")]


def choose(
    sets_N: np.ndarray, parts: Iterable[tuple[int, pa.RecordBatch]], priority: Callable[[str], int]
) -> pa.Table:
    """The survivor of every set of two or more: columns set, priority, id, number, sorted by set.

    `sets_N` has the smallest number of each document's set; `parts` are rows (id, component) with
    the number of the first. Memory: one row a set.
    """
    member = sets_N != np.arange(len(sets_N))
    member[sets_N[member]] = True
    waiting = [_table([], [], [], [])]
    rows = 0
    for first, part in parts:
        here = np.flatnonzero(member[first : first + part.num_rows])
        if not len(here):
            continue
        part = part.take(pa.array(here))
        waiting.append(
            _table(sets_N[here + first], _priorities(part, priority), part["id"], here + first)
        )
        rows += len(here)
        if rows > _AT_ONCE:
            waiting, rows = [_first_of_each(waiting)], 0
    return _first_of_each(waiting)


def _table(sets: object, priority: object, name: object, number: object) -> pa.Table:
    names = {"set": pa.int64(), "priority": pa.int64(), "id": pa.string(), "number": pa.int64()}
    columns = (sets, priority, name, number)
    return pa.table({n: pa.array(c, t) for (n, t), c in zip(names.items(), columns, strict=True)})


def _priorities(part: pa.RecordBatch, priority: Callable[[str], int]) -> np.ndarray:
    names = part["component"].dictionary_encode()
    known = np.array([priority(name) for name in names.dictionary.to_pylist()], np.int64)
    return known[names.indices.to_numpy()]


def _first_of_each(tables: list[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables).sort_by(_KEYS)
    sets = table["set"].to_numpy()
    return table.filter(pa.array(np.r_[True, sets[1:] != sets[:-1]][: len(sets)]))


def survivor_of(sets_N: np.ndarray, chosen: pa.Table) -> np.ndarray:
    """The number of the survivor of each document's set [N]; its own where it is alone."""
    survivor = np.arange(len(sets_N), dtype=sets_N.dtype)
    survivor[chosen["set"].to_numpy()] = chosen["number"].to_numpy()
    return survivor[sets_N]
