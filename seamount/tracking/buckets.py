"""Down-sampling that hides nothing: of each bucket the first, lowest, highest and last point."""

from __future__ import annotations

import math
from collections.abc import Sequence

from seamount.tracking.index import Point


def envelope(points: Sequence[Point], limit: int) -> list[Point]:
    """At most `limit` of `points` (given and returned by step), among them every bucket's extremes.

    Buckets hold equal counts of points (the M4 aggregation of Jugel et al., VLDB 2014, cut by count
    instead of by pixel column). Below four points only the last ones are kept; points that are not
    finite take part as first or last only.
    """
    if len(points) <= limit:
        return list(points)
    if limit < 4:
        return list(points[-limit:]) if limit == 1 else [points[0], *points[-(limit - 1) :]]
    buckets = limit // 4
    kept: list[Point] = []
    for bucket in range(buckets):
        start, end = (len(points) * b // buckets for b in (bucket, bucket + 1))
        part = range(start, end)
        finite = [i for i in part if math.isfinite(points[i].value)] or list(part)
        lowest = min(finite, key=lambda i: points[i].value)
        highest = max(finite, key=lambda i: points[i].value)
        kept += [points[i] for i in sorted({start, lowest, highest, end - 1})]
    return kept
