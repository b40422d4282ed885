"""Several lines as one: their mean, and how far they spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

MAX_PLACES = 1_000_000  # x positions of a mean
_CELLS = 1 << 22


@dataclass(frozen=True)
class Joined:
    """A mean by x; `low` and `high` are there if a band was asked for. `even` says that all members
    had the same x, `thinned` that there were too many to keep."""

    x: Any
    y: Any
    low: Any
    high: Any
    even: bool
    thinned: bool


def joined(members: Sequence[tuple[Any, Any]], band: str) -> Joined:
    """The mean of lines (x ascending, y finite or NaN), each of them counted between its own ends.

    It stands at every x at which some member has a point. A member without a point there counts
    with the straight line between its neighbours, and not at all where one of them is NaN; of
    several points at one x the last counts. The band is the lowest and highest member, or the mean
    minus and plus the sample standard deviation (n - 1; of a single member: 0).
    """
    lines = [_last_of_each(x, y) for x, y in members if len(x)]
    if not lines:
        nothing = np.empty(0)
        return Joined(nothing, nothing, nothing, nothing, True, False)
    even = all(np.array_equal(x, lines[0][0]) for x, _ in lines[1:])
    places = lines[0][0] if even else np.unique(np.concatenate([x for x, _ in lines]))
    thinned = len(places) > MAX_PLACES
    if thinned:
        places = places[np.linspace(0, len(places) - 1, MAX_PLACES).astype(np.int64)]
    rows = max(1, _CELLS // len(lines))
    pieces = [
        _spread([_at(places[start : start + rows], x, y) for x, y in lines], band)
        for start in range(0, len(places), rows)
    ]
    y, low, high = (np.concatenate(column) for column in zip(*pieces, strict=True))
    none = band == "none"
    return Joined(places, y, None if none else low, None if none else high, even, thinned)


def _last_of_each(x: Any, y: Any) -> tuple[Any, Any]:
    keep = np.append(x[1:] != x[:-1], True)
    return x[keep], y[keep]


def _at(places: Any, x: Any, y: Any) -> Any:
    """Values at `places`, NaN outside of the line."""
    return np.interp(places, x, y, left=np.nan, right=np.nan)


def _spread(rows: list[Any], band: str) -> tuple[Any, Any, Any]:
    """(mean, low, high) of a column of values, NaN being none."""
    table = np.stack(rows)
    there = np.isfinite(table)
    count = np.where(there.any(axis=0), there.sum(axis=0), np.nan)  # none: the mean is NaN too
    mean = np.where(there, table / count, 0.0).sum(axis=0)
    mean = np.where(np.isnan(count), np.nan, mean)  # divided before the sum, which stays finite
    if band != "std":
        low = np.where(there, table, np.inf).min(axis=0)
        return mean, low, np.where(there, table, -np.inf).max(axis=0)
    with np.errstate(over="ignore"):
        squares = np.where(there, (table - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.maximum(count - 1, 1))
    return mean, mean - deviation, mean + deviation
