"""Points of a run, from its Parquet parts and the tails of its segments, as one.

A part that was merged away while it was read makes the reader start again; one that is lost or
damaged is made anew from the segments, which are the truth.
"""

from __future__ import annotations

import importlib.util
import logging
import math
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from seamount.core.errors import CorruptData
from seamount.tracking.points.snapshots import Snapshot, snapshot, tail_points
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder
from seamount.tracking.store.entries import UNSAID, Point, point
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import Ancestor, Key, ancestors, joins
from seamount.tracking.store.schema import transaction

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Columns, Rows

log = logging.getLogger("seamount.tracking")

_TRIES = 10
_T = TypeVar("_T")


def has_columns() -> bool:
    """Whether numpy and pyarrow are here; without them points are read from the segments alone."""
    return all(importlib.util.find_spec(name) is not None for name in ("numpy", "pyarrow"))


def columns(
    index: Index,
    run_id: str,
    name: str,
    rank: int = 0,
    *,
    attempt: int | None = None,
    lineage: bool = True,
    include_previews: bool = False,
) -> Columns:
    """Points of a metric by step, then time: see Index.columns."""
    from seamount.tracking.points.columns import columns_of, nothing

    key = (name, rank)
    rows = _strands(index, run_id, name, rank, attempt).get(key, nothing())
    if lineage and attempt is None and joins(name):
        above = ancestors(index, run_id)
        lent = [_lent(a, _strands(index, a.run_id, name, rank).get(key, nothing())) for a in above]
        rows = _one_series([rows, *lent]) if above else rows
    return columns_of(rows.settled() if include_previews else rows.final())


def all_columns(
    index: Index, run_id: str, *, lineage: bool = True, include_previews: bool = False
) -> dict[Key, Columns]:
    """(name, rank) -> points as `columns` gives them, of every metric of a run."""
    from seamount.tracking.points.columns import columns_of

    found = {key: [rows] for key, rows in _strands(index, run_id).items()}
    for ancestor in ancestors(index, run_id) if lineage else ():
        for key, rows in _strands(index, ancestor.run_id).items():
            if joins(key[0]):
                found.setdefault(key, []).append(_lent(ancestor, rows))
    result = {}
    for key, pieces in found.items():
        rows = pieces[0] if len(pieces) == 1 else _one_series(pieces)
        rows = rows.settled() if include_previews else rows.final()
        if len(rows):
            result[key] = columns_of(rows)
    return result


def _strands(
    index: Index,
    run_id: str,
    name: str | None = None,
    rank: int | None = None,
    attempt: int | None = None,
) -> dict[Key, Rows]:
    """A run's own points (of a metric, of an attempt) in order, as the attempts follow on."""
    import numpy as np

    def read() -> dict[Key, Rows]:
        found = snapshot(index, run_id, name, rank, attempt)
        rows = shown(read_rows(found, only=name is not None), found)
        result = {}
        for key, number in found.newest().items():
            span = np.searchsorted(rows.series, [number, number + 1]).tolist()
            result[key] = rows.take(slice(*span))
        return result

    return whole(index, run_id, read)


def _lent(ancestor: Ancestor, rows: Rows) -> Rows:
    """Of an ancestor's rows those that a fork has; at an equal moment they come before its own."""
    import dataclasses

    kept = rows.take(rows.up_to(ancestor.up_to))
    return dataclasses.replace(kept, segment=kept.segment - (ancestor.generation << 40))


def _one_series(pieces: list[Rows]) -> Rows:
    import dataclasses

    from seamount.tracking.points.columns import joined

    rows = joined(pieces)
    return dataclasses.replace(rows, series=rows.series * 0).in_order()


def read_rows(found: Snapshot, *, only: bool = False) -> Rows:
    """The points of the snapshot's series, in order; `only` if those are not all of the run's."""
    from seamount.tracking.points.columns import joined
    from seamount.tracking.points.parts import read_part

    wanted = list(found.ids.values()) if only else None
    pieces = [read_part(path, wanted) for path in found.parts] if found.ids else []
    pieces.append(tail_points(found))
    return joined([piece for piece in pieces if len(piece)]).in_order()


def shown(rows: Rows, found: Snapshot) -> Rows:
    """`rows` without those that a later attempt replaced; a rank's metric is one series then."""
    import dataclasses

    import numpy as np

    newest = found.newest()
    if len(newest) == len(found.ids):
        return rows
    hidden = found.hidden_from()
    keep = np.ones(len(rows), bool)
    series = rows.series.copy()
    for (name, rank, _), number in found.ids.items():
        mine = slice(*np.searchsorted(rows.series, [number, number + 1]).tolist())
        series[mine] = newest[name, rank]
        if number in hidden:
            keep[mine] = rows.take(mine).below(hidden[number])
    return dataclasses.replace(rows, series=series).take(keep).in_order()


def count_by_segment(index: Index, run_id: str) -> tuple[dict[int, int], int]:
    """(segment id -> points that parts and tails hold of it, how many of all are there twice)."""
    import numpy as np

    def read() -> tuple[dict[int, int], int]:
        rows = read_rows(snapshot(index, run_id))
        keys = np.stack([rows.series, rows.segment, rows.sequence])
        keys = keys[:, np.lexsort(keys)]
        ids, counts = np.unique(rows.segment, return_counts=True)
        doubled = (keys[:, 1:] == keys[:, :-1]).all(axis=0).sum()
        return dict(zip(ids.tolist(), counts.tolist(), strict=True)), int(doubled)

    return whole(index, run_id, read)


def whole(index: Index, run_id: str, read: Callable[[], _T]) -> _T:
    """What `read` gives, called again where a part went away under it."""
    for attempt in range(_TRIES):
        try:
            return read()
        except (FileNotFoundError, CorruptData) as error:
            if attempt == _TRIES - 1:
                raise CorruptData(f"points of run {run_id} cannot be read: {error}") from error
            if isinstance(error, CorruptData):
                log.warning("points of run %s are made anew from its segments: %s", run_id, error)
                forget_parts(index, run_id)
            else:
                forget_lost(index, run_id, Path(error.filename))
    raise AssertionError


def forget_lost(index: Index, run_id: str, path: Path) -> None:
    """Take a run's points for not compacted where a part is gone, and not because it was merged."""
    query = "SELECT 1 FROM parts WHERE run_id = ? AND file = ?"
    if index.db.execute(query, (run_id, path.name)).fetchone() is not None:
        log.warning("%s is gone: the run's points are made anew from its segments", path)
        forget_parts(index, run_id)


def forget_parts(index: Index, run_id: str) -> None:
    """Take all points of a run for not compacted; the files that stood for them are orphans.

    Raises CorruptData where a segment is gone, so that its points are only there.
    """
    folder = index.folder / "segments" / run_id
    gone = [row["file"] for row in index.segments(run_id) if not (folder / row["file"]).exists()]
    if gone:
        raise CorruptData(f"a part of run {run_id} is damaged, and its segment {gone[0]} is gone")
    with transaction(index.db):
        index.db.execute("DELETE FROM parts WHERE run_id = ?", (run_id,))
        index.db.execute("UPDATE segments SET compacted = first WHERE run_id = ?", (run_id,))


def plain_points(
    index: Index,
    run_id: str,
    name: str,
    rank: int = 0,
    *,
    attempt: int | None = None,
    lineage: bool = True,
    include_previews: bool = False,
) -> list[Point]:
    """What `columns` gives, from the segments alone and without numpy: slower, and as right."""
    rows = list(_plain_rows(index, run_id, name, rank, attempt, 0))
    if lineage and attempt is None and joins(name):
        for above in ancestors(index, run_id):
            lent = _plain_rows(index, above.run_id, name, rank, None, above.generation)
            rows += [row for row in lent if row[0] <= above.up_to]
    rows.sort(key=lambda row: row[:5])
    kept: list[tuple[Any, ...]] = []
    for _, group in groupby(rows, key=lambda row: row[0]):
        here = list(group)
        final = [row for row in here if row[6] is None]
        kept += final or (here[-1:] if include_previews else [])
    shares = (row[6] if row[6] is None or row[6] == row[6] else UNSAID for row in kept)
    return [
        point(row[0], row[5], row[1], math.nan if share is None else share)
        for row, share in zip(kept, shares, strict=True)
    ]


def _plain_rows(
    index: Index, run_id: str, name: str, rank: int, attempt: int | None, generation: int
) -> Iterator[tuple[Any, ...]]:
    """(step, time, -generation, segment, sequence, value, how far a preview was or None)."""
    found = snapshot(index, run_id, name, rank, attempt)
    hidden = found.hidden_from()
    for row in index.segments(run_id):
        number = found.ids.get((name, row["rank"], row["attempt"]))
        if number is None:
            continue
        ceiling = hidden.get(number)
        path = index.folder / "segments" / run_id / row["file"]
        with path.open("rb") as stream:
            stream.seek(row["first"])
            content = stream.read(row["position"] - row["first"])
        for record in Decoder().records(content):
            if record.kind == codec.METRICS and name in record.body[0]:
                names, step, values = record.body
                if ceiling is None or step < ceiling:
                    place = (step, record.time_us, -generation, row["id"], record.sequence)
                    yield (*place, values[names.index(name)], record.preview)
