"""A line cut to what a screen can show, without hiding a spike (M4, Jugel et al., VLDB 2014).

Buckets are equally wide as drawn, on a log axis too. Of each stay the first, lowest, highest and
last point, of a band its lowest and highest, and one of the points that have no value (a gap).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seamount.tracking.dashboard.charts.scales import place, value_at


def envelope(x: Any, y: Any, edges: Any, low: Any = None, high: Any = None) -> Any:
    """Ascending places of the points that stay; x ascends, y may hold NaN. `edges` are the inner
    and outer edges of the buckets; what lies beyond belongs to the first and last."""
    finite = np.flatnonzero(np.isfinite(y))
    bucket = np.searchsorted(edges[1:-1], x, side="right")
    kept = []
    if len(finite):
        starts = _starts(bucket[finite])
        lasts = np.append(starts[1:], len(finite)) - 1
        rows = y[finite]
        kept += [finite[starts], finite[lasts]]
        kept += [finite[_first_of(rows, starts, np.minimum)]]
        kept += [finite[_first_of(rows, starts, np.maximum)]]
        if low is not None:
            kept += [finite[_first_of(low[finite], starts, np.minimum)]]
            kept += [finite[_first_of(high[finite], starts, np.maximum)]]
    gaps = np.flatnonzero(~np.isfinite(y))
    if len(gaps):
        kept.append(gaps[_starts(bucket[gaps])])
    return np.unique(np.concatenate(kept)) if kept else np.arange(0)


def bucket_edges(span: tuple[float, float], count: int, scale: str, threshold: float) -> Any:
    """Edges of `count` buckets over `span` that are equally wide on the axis."""
    ends = place(np.array(span, float), scale, threshold)
    return value_at(np.linspace(ends[0], ends[1], count + 1), scale, threshold)


def _starts(bucket: Any) -> Any:
    return np.flatnonzero(np.concatenate([[True], bucket[1:] != bucket[:-1]]))


def _first_of(values: Any, starts: Any, choose: Any) -> Any:
    """Of each bucket the place of its first lowest (or highest) value."""
    best = choose.reduceat(values, starts)
    sizes = np.diff(np.append(starts, len(values)))
    hits = np.flatnonzero(values == np.repeat(best, sizes))
    return hits[np.searchsorted(hits, starts)]
