"""Series that are no numbers, as the index has them: texts, histograms and files by step.

Texts and histograms of a fork come after its ancestors', as points do; files are its own.
"""

from __future__ import annotations

import json
from typing import Any

from seamount.tracking.media import Histogram
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import ancestors, joins

_KINDS = ("strings", "histograms", "file_series")


def names(index: Index, run_id: str) -> list[tuple[str, str, int]]:
    """(kind, name, rank) of every such series of a run, sorted."""
    query = " UNION ".join(
        f"SELECT '{kind}', name, rank FROM {kind} WHERE run_id = ?1" for kind in _KINDS
    )
    return sorted(index.db.execute(query, (run_id,)).fetchall())


def strings(
    index: Index, run_id: str, name: str, rank: int = 0, *, lineage: bool = True
) -> list[tuple[float, str]]:
    """(step, text) of a string series."""
    rows = timed_strings(index, run_id, name, rank, lineage=lineage)
    return [(step, text) for step, _, text in rows]


def timed_strings(
    index: Index, run_id: str, name: str, rank: int = 0, *, lineage: bool = True
) -> list[tuple[float, int, str]]:
    """(step, time in microseconds, text) of a string series."""
    return _joined(index, "strings", "value", run_id, name, rank, lineage)


def string_keys(index: Index, run_id: str, *, lineage: bool = True) -> list[tuple[str, int]]:
    """(name, rank) of the string series of a run and of those its ancestors lend it, sorted."""
    query = "SELECT DISTINCT name, rank FROM strings WHERE run_id = ?"
    keys = set(index.db.execute(query, (run_id,)))
    for above in ancestors(index, run_id) if lineage else ():
        lent = index.db.execute(f"{query} AND step <= ?", (above.run_id, above.up_to))
        keys.update(key for key in lent if joins(key[0]))
    return sorted(keys)


def histograms(
    index: Index, run_id: str, name: str, rank: int = 0, *, lineage: bool = True
) -> list[tuple[float, Histogram]]:
    """(step, histogram) of a histogram series."""
    rows = _joined(index, "histograms", "type, edges_and_values", run_id, name, rank, lineage)
    found = []
    for step, _, kind, text in rows:
        edges, values = json.loads(text)
        given = {"counts": values} if kind == "COUNTING" else {"densities": values}
        found.append((step, Histogram(edges, **given)))
    return found


def files(index: Index, run_id: str, name: str, rank: int = 0) -> list[dict[str, Any]]:
    """{"step", "path", "digest", "size_bytes", "mime"} of every version of a file by its step."""
    columns = ("step", "path", "digest", "size_bytes", "mime")
    rows = _rows(index, "file_series", ", ".join(columns), run_id, name, rank)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _joined(
    index: Index, table: str, columns: str, run_id: str, name: str, rank: int, lineage: bool
) -> list[Any]:
    """(step, time, columns ...) by step, then time, of a run and what its ancestors lend it."""
    query = (
        f"SELECT step, time_us, -?, segment_id, sequence, {columns} FROM {table}"
        " WHERE run_id = ? AND name = ? AND rank = ?"
    )
    rows = index.db.execute(query, (0, run_id, name, rank)).fetchall()
    for above in ancestors(index, run_id) if lineage and joins(name) else ():
        lent = (above.generation, above.run_id, name, rank, above.up_to)
        rows += index.db.execute(f"{query} AND step <= ?", lent).fetchall()
    rows.sort(key=lambda row: row[:5])
    return [(*row[:2], *row[5:]) for row in rows]


def _rows(index: Index, table: str, columns: str, run_id: str, name: str, rank: int) -> list[Any]:
    query = (
        f"SELECT {columns} FROM {table} WHERE run_id = ? AND name = ? AND rank = ? "
        "ORDER BY step, time_us, segment_id, sequence"
    )
    return index.db.execute(query, (run_id, name, rank)).fetchall()
