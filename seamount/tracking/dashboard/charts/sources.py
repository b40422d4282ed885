"""What each strand gave to a chart, by its digest: to tell later whether that is still so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from seamount.tracking.dashboard.charts.chart import Strand
from seamount.tracking.dashboard.charts.digest import strand_digest
from seamount.tracking.dashboard.charts.labels import group_of, group_text
from seamount.tracking.dashboard.charts.strands import Points
from seamount.tracking.dashboard.spec import ChartSpec

Key = tuple[str, str, int]  # run id, metric, rank


def sources(
    spec: ChartSpec, strands: Iterable[Points], until: Mapping[Key, float | None] | None = None
) -> list[Strand]:
    """The strands within the x range; of those in `until` only what is not beyond that x."""
    found = []
    for points in strands:
        key = (points.view.run_id, points.metric, points.rank)
        start, end = within(points.x, spec.x_range)
        if until is not None and key in until:
            last = until[key]
            stop = start if last is None else int(np.searchsorted(points.x, last, side="right"))
            end = min(end, stop)
        found.append(_source(spec, points, slice(start, end)))
    return found


def within(x: Any, x_range: tuple[float, float] | None) -> tuple[int, int]:
    """Where the points of the range (its ends too) begin and end."""
    if x_range is None:
        return 0, len(x)
    first = np.searchsorted(x, x_range[0], side="left")
    return int(first), int(np.searchsorted(x, x_range[1], side="right"))


def _source(spec: ChartSpec, points: Points, inside: slice) -> Strand:
    x, y, steps = points.x[inside], points.y[inside], points.steps[inside]
    group = [group_text(v) for v in group_of(points.view, spec.group_by).values()]
    run_id, metric, rank = points.view.run_id, points.metric, points.rank
    return Strand(
        run_id, metric, rank, len(x),
        float(x[0]) if len(x) else None, float(x[-1]) if len(x) else None,
        (float(steps.min()), float(steps.max())) if len(x) else None,
        strand_digest(run_id, metric, rank, group, x, y),
    )  # fmt: skip
