"""Summaries of a fork's metrics: its own, and what its ancestors lend it, as one."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seamount.tracking.store.entries import Point, Summary
from seamount.tracking.store.lineage import Ancestor, Key, inherited_series, known_ancestors

if TYPE_CHECKING:
    from seamount.tracking.store.index import Index


def joined_summaries(index: Index, run_id: str, only: Key | None = None) -> list[Summary]:
    """Every metric (or the one of this name and rank) by name and rank, the ancestors' joined in.

    Where an ancestor is gone, that is warned of, and the run's own are given.
    """
    own = index.summaries(run_id, lineage=False)
    found = {(s.name, s.rank): s for s in own if only in (None, (s.name, s.rank))}
    for ancestor in known_ancestors(index, run_id):
        for lent in _lent(index, ancestor, only):
            key = (lent.name, lent.rank)
            found[key] = _joined(lent, found[key]) if key in found else lent
    return [found[key] for key in sorted(found)]


def _lent(index: Index, ancestor: Ancestor, only: Key | None) -> Iterator[Summary]:
    """What each metric of an ancestor looks like up to the step where the fork left it."""
    attempts: dict[Key, list[Any]] = defaultdict(list)
    for name, rank, attempt, *row in inherited_series(index, ancestor):
        if only in (None, (name, rank)):
            attempts[name, rank].append((attempt, row))
    for (name, rank), rows in attempts.items():
        (attempt, (points, bad, last_step, last_us, last, low, high)), *others = rows
        if attempt == 0 and not others and last_step <= ancestor.up_to:
            last = math.nan if last is None else last
            yield Summary(name, rank, points, bad, last_step, last_us, last, low, high)
            continue
        # It went on, or was restarted: the points themselves tell what is lent.
        history = index.history(ancestor.run_id, name, rank, lineage=False)
        kept = [point for point in history if point.step <= ancestor.up_to]
        if kept:
            yield _summary(name, rank, kept)


def _summary(name: str, rank: int, points: list[Point]) -> Summary:
    """Of points by step, then time."""
    finite = [p.value for p in points if math.isfinite(p.value)]
    last, bad = points[-1], len(points) - len(finite)
    low, high = _extreme(min, finite), _extreme(max, finite)
    return Summary(name, rank, len(points), bad, last.step, last.time_us, last.value, low, high)


def _joined(earlier: Summary, later: Summary) -> Summary:
    """Both as one; at an equal last step and time the descendant's point is the last."""
    newer = (later.last_step, later.last_us) >= (earlier.last_step, earlier.last_us)
    return replace(
        later if newer else earlier,
        points=earlier.points + later.points,
        bad=earlier.bad + later.bad,
        min_value=_extreme(min, [earlier.min_value, later.min_value]),
        max_value=_extreme(max, [earlier.max_value, later.max_value]),
    )


def _extreme(choose: Any, values: Iterable[float | None]) -> float | None:
    return choose((value for value in values if value is not None), default=None)
