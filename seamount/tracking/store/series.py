"""Series that are no numbers, as the index has them: texts, histograms and files by step."""

from __future__ import annotations

import json
from typing import Any

from seamount.tracking.media import Histogram
from seamount.tracking.store.index import Index

_KINDS = ("strings", "histograms", "file_series")


def names(index: Index, run_id: str) -> list[tuple[str, str, int]]:
    """(kind, name, rank) of every such series of a run, sorted."""
    query = " UNION ".join(
        f"SELECT '{kind}', name, rank FROM {kind} WHERE run_id = ?1" for kind in _KINDS
    )
    return sorted(index.db.execute(query, (run_id,)).fetchall())


def strings(index: Index, run_id: str, name: str, rank: int = 0) -> list[tuple[float, str]]:
    """(step, text) of a string series."""
    return _rows(index, "strings", "step, value", run_id, name, rank)


def histograms(
    index: Index, run_id: str, name: str, rank: int = 0
) -> list[tuple[float, Histogram]]:
    """(step, histogram) of a histogram series."""
    rows = _rows(index, "histograms", "step, type, edges_and_values", run_id, name, rank)
    found = []
    for step, kind, text in rows:
        edges, values = json.loads(text)
        given = {"counts": values} if kind == "COUNTING" else {"densities": values}
        found.append((step, Histogram(edges, **given)))
    return found


def files(index: Index, run_id: str, name: str, rank: int = 0) -> list[dict[str, Any]]:
    """{"step", "path", "digest", "size_bytes", "mime"} of every version of a file by its step."""
    columns = ("step", "path", "digest", "size_bytes", "mime")
    rows = _rows(index, "file_series", ", ".join(columns), run_id, name, rank)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _rows(index: Index, table: str, columns: str, run_id: str, name: str, rank: int) -> list[Any]:
    query = (
        f"SELECT {columns} FROM {table} WHERE run_id = ? AND name = ? AND rank = ? "
        "ORDER BY step, time_us, segment_id, sequence"
    )
    return index.db.execute(query, (run_id, name, rank)).fetchall()
