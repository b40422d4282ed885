"""Points that came since a moment, read from the segments' new bytes alone.

The moment is a position in each segment, so it can be carried by a client as text: the server keeps
nothing between two questions, and a restart of it loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from seamount.tracking.points.buckets import envelope
from seamount.tracking.points.columns import columns_of, joined
from seamount.tracking.points.snapshots import Tail, tail_bytes, tail_rows
from seamount.tracking.query.patterns import Pattern
from seamount.tracking.store.index import Index

MAX_POINTS = 400  # a series and an event; the page asks anew for what is cut
NEWEST = -1
_MAX_BYTES = 4 << 20  # of a segment in one event
_IDS = "(SELECT value FROM json_each(?))"


@dataclass(frozen=True)
class News:
    """`series`: JSON values a series; `again`: runs whose charts must be asked for anew."""

    series: list[dict[str, Any]]
    again: list[str]


def positions(index: Index, ids: Collection[str]) -> dict[int, int]:
    """Segment id -> how far it is taken in, of those that may still grow; NEWEST -> highest id."""
    query = f"SELECT id, position FROM segments WHERE state = 'open' AND run_id IN {_IDS}"
    found = dict(index.db.execute(query, (json.dumps(list(ids)),)))
    found[NEWEST] = index.db.execute("SELECT coalesce(max(id), 0) FROM segments").fetchone()[0]
    return found


def news(
    index: Index, ids: Collection[str], wanted: Pattern, before: dict[int, int], after: int
) -> News:
    """What the series `wanted` of the runs `ids` got since the positions `before`.

    `after` is the revision at `before`: runs that have not changed since are not looked at.
    """
    found, again = News([], []), set()
    query = f"SELECT run_id FROM runs WHERE revision > ? AND NOT deleted AND run_id IN {_IDS}"
    for (run_id,) in index.db.execute(query, (after, json.dumps(list(ids)))).fetchall():
        for tail, attempt in _tails(index, run_id, before):
            if attempt or tail.end - tail.start > _MAX_BYTES:
                again.add(run_id)  # a restart hides points; too much is cheaper in one piece
            else:
                found.series.extend(_series(run_id, tail, wanted))
    found.again.extend(sorted(again))
    return found


def _tails(index: Index, run_id: str, before: dict[int, int]) -> list[tuple[Tail, int]]:
    """(the new bytes, attempt) of each segment of a run that grew."""
    folder = index.folder / "segments" / run_id
    query = "SELECT id, file, rank, attempt, first, position FROM segments WHERE run_id = ?"
    sets = "SELECT set_id, names FROM sets WHERE segment_id = ?"
    tails = []
    for number, file, rank, attempt, first, end in index.db.execute(query, (run_id,)).fetchall():
        closed = end if number <= before.get(NEWEST, 0) else first
        start = before.get(number, closed)
        if end > start:
            names = {i: tuple(json.loads(n)) for i, n in index.db.execute(sets, (number,))}
            tails.append((Tail(number, folder / file, rank, attempt, start, end, names), attempt))
    return tails


def _series(run_id: str, tail: Tail, wanted: Pattern) -> list[dict[str, Any]]:
    """The new points of one segment, a series each."""
    names = sorted({name for each in tail.sets.values() for name in each if wanted.matches(name)})
    ids = {(name, tail.rank, tail.attempt): place for place, name in enumerate(names)}
    rows = joined(tail_rows(tail, tail_bytes(tail, tail.end), ids)[0]).in_order()
    found = []
    for place, name in enumerate(names):
        span = np.searchsorted(rows.series, [place, place + 1]).tolist()
        points = columns_of(rows.take(slice(*span)))
        if len(points):
            kept = points.take(envelope(points.values, MAX_POINTS))
            found.append(
                {
                    "run_id": run_id,
                    "metric": name,
                    "rank": tail.rank,
                    "steps": kept.steps.astype(np.float64).tolist(),
                    "times": (kept.times_us / 1e6).tolist(),
                    "values": [_plain(value) for value in kept.values.tolist()],
                    "points": len(points),
                }
            )
    return found


def _plain(value: float) -> float | str:
    if value - value == 0:
        return value
    return "nan" if value != value else "inf" if value > 0 else "-inf"
