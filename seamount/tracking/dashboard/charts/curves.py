"""Strands become curves: one each, or the mean of a run's ranks, or of a group's runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from seamount.tracking.dashboard.charts.grouping import Joined, joined
from seamount.tracking.dashboard.charts.labels import group_name, group_of
from seamount.tracking.dashboard.charts.smoothing import smoothed
from seamount.tracking.dashboard.charts.strands import Points
from seamount.tracking.dashboard.spec import ChartSpec, Smoothing


@dataclass
class Curve:
    """A line from all of its points, before smoothing; `of` are the strands it comes from."""

    of: list[Points]
    x: Any
    y: Any
    low: Any
    high: Any
    times_us: Any
    rank: int | None
    group: dict[str, Any] | None = None
    baseline: bool = False
    uneven: bool = False
    thinned: bool = False
    run_ids: set[str] = field(default_factory=set)

    def smooth(self, how: Smoothing) -> Any:
        """The values smoothed; gaps stay gaps, and count for nothing."""
        there = np.isfinite(self.y)
        if there.all():
            return smoothed(self.y, self.times_us, how)
        result = np.full(len(self.y), np.nan)
        result[there] = smoothed(self.y[there], self.times_us[there], how)
        return result


def curves_of(spec: ChartSpec, strands: list[Points], baseline: str | None) -> list[Curve]:
    """The curves of a chart, by metric, in the order in which their first strands come.

    Means of ranks are made first, then those of groups; the baseline stays by itself.
    """
    curves = [_single(each) for each in strands]
    for curve in curves:
        curve.baseline = curve.of[0].view.run_id == baseline
    if spec.ranks == "mean":
        curves = _merged(curves, spec.band, lambda c: (c.of[0].metric, c.of[0].view.run_id))
    if not spec.group_by:
        return curves
    for curve in curves:
        curve.group = group_of(curve.of[0].view, spec.group_by)
    own = [curve for curve in curves if curve.baseline]
    for curve in own:
        curve.group = None
    rest = [curve for curve in curves if not curve.baseline]
    return _merged(rest, spec.band, _group_key, always=True) + own


def _group_key(curve: Curve) -> tuple[Any, ...]:
    return curve.of[0].metric, curve.rank, group_name(curve.group or {})


def _single(points: Points) -> Curve:
    y = np.where(np.isfinite(points.y), points.y, np.nan)
    ids = {points.view.run_id}
    return Curve([points], points.x, y, None, None, points.times_us, points.rank, run_ids=ids)


def _merged(curves: Iterable[Curve], band: str, key: Any, *, always: bool = False) -> list[Curve]:
    """One curve for those of one key; `always` also where there is only one of them."""
    together: dict[Any, list[Curve]] = {}
    for curve in curves:
        together.setdefault(key(curve), []).append(curve)
    return [
        members[0] if len(members) == 1 and not always else _mean(members, band)
        for members in together.values()
    ]


def _mean(members: list[Curve], band: str) -> Curve:
    mean: Joined = joined([(each.x, each.y) for each in members], band)
    clock = joined([(each.x, each.times_us) for each in members], "none").y
    ranks = {each.rank for each in members}
    return Curve(
        of=[strand for each in members for strand in each.of],
        x=mean.x, y=mean.y, low=mean.low, high=mean.high,
        times_us=clock.astype(np.int64),
        rank=ranks.pop() if len(ranks) == 1 else None,
        group=members[0].group, baseline=members[0].baseline,
        uneven=not mean.even or any(each.uneven for each in members),
        thinned=mean.thinned or any(each.thinned for each in members),
        run_ids=set[str]().union(*(each.run_ids for each in members)),
    )  # fmt: skip
