"""Down-sampling that hides nothing: of each bucket the first, lowest, highest and last point."""

from __future__ import annotations

from typing import Any

import numpy as np


def envelope(values: Any, limit: int) -> Any:
    """Ascending places of at most `limit` of `values`, every bucket's extremes among them.

    Buckets hold equal counts of points (the M4 aggregation of Jugel et al., VLDB 2014, cut by count
    instead of by pixel column). Below four points only the last ones are kept; points that are not
    finite take part as first or last only.
    """
    count = len(values)
    if count <= limit:
        return np.arange(count)
    if limit < 4:
        last = np.arange(count - limit, count)
        return last if limit == 1 else np.concatenate([[0], last[1:]])
    buckets = limit // 4
    bounds = count * np.arange(buckets + 1) // buckets
    starts, lasts = bounds[:-1], bounds[1:] - 1
    # A row a bucket; the shorter rows repeat their last point, which changes no extreme.
    width = int((lasts - starts).max()) + 1
    places = np.minimum(starts[:, None] + np.arange(width), lasts[:, None])
    rows = values[places]
    finite = np.isfinite(rows)
    lowest = starts + np.where(finite, rows, np.inf).argmin(axis=1)
    highest = starts + np.where(finite, rows, -np.inf).argmax(axis=1)
    some = finite.any(axis=1)
    kept = [starts, np.where(some, lowest, starts), np.where(some, highest, starts), lasts]
    return np.unique(np.concatenate(kept))
