"""The points a chart is made of: one strand for each rank of each run and metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from seamount.tracking.dashboard.spec import ChartSpec, RunSelection
from seamount.tracking.query.filters import attribute
from seamount.tracking.query.patterns import compile_pattern
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import combined, runs
from seamount.tracking.store.index import Index, Summary

MAX_RUNS = 100
MAX_STRANDS = 1_000
MAX_POINTS = 20_000_000


@dataclass(frozen=True)
class Points:
    """A strand's points by x, then step: `x` finite, `y` as logged (NaN and infinities too)."""

    view: RunView
    metric: str
    rank: int
    x: Any
    y: Any
    steps: Any
    times_us: Any


@dataclass
class Picked:
    """What a spec selects: runs, and summaries of their metrics, before any point is read.

    `others` are ranks that are not drawn, by run and metric; `notes` say what is left out.
    """

    views: list[RunView]
    strands: list[tuple[RunView, Summary]]
    others: dict[tuple[str, str], list[Summary]]
    notes: list[str] = field(default_factory=list)


def select_runs(
    which: RunSelection, store: str | Path | None, columns: tuple[str, ...] = ()
) -> tuple[list[RunView], int]:
    """(the first runs that are meant, how many there are): newest first, or in the order of ids."""
    where = combined(which.where, None)
    if which.ids is not None:
        among = attribute("run_id").isin(which.ids)
        where = among if where is None else where & among
    if which.ids == ():
        return [], 0
    table = runs(
        where, store=store, project=which.project, search=which.search,
        limit=None if which.ids else MAX_RUNS, columns=columns,
    )  # fmt: skip
    if which.ids is None:
        return list(table), table.total
    order = {run_id: place for place, run_id in enumerate(which.ids)}
    return sorted(table, key=lambda view: order[view.run_id])[:MAX_RUNS], table.total


def pick(spec: ChartSpec, store: str | Path | None, baseline: str | None = None) -> Picked:
    """The strands of a chart, within the bounds; the baseline's among them."""
    views, total = select_runs(spec.runs, store, spec.group_by)
    notes = []
    if total > len(views):
        notes.append(f"the first {len(views)} of {total:,} runs are shown")
    if baseline is not None and all(view.run_id != baseline for view in views):
        views += select_runs(RunSelection(ids=(baseline,)), store, spec.group_by)[0]
    found = Picked(views, [], {}, notes)
    if views:
        with views[0].store.index() as index:
            _add_strands(found, spec, index)
        _bound(found)
    return found


def _add_strands(found: Picked, spec: ChartSpec, index: Index) -> None:
    pattern = compile_pattern(spec.metrics)
    verdicts: dict[str, bool] = {}
    for view in found.views:
        by_metric: dict[str, list[Summary]] = {}
        for summary in index.summaries(view.run_id):
            name = summary.name
            if name not in verdicts:
                verdicts[name] = pattern.matches(name)
            if verdicts[name] and summary.points:
                by_metric.setdefault(name, []).append(summary)
        for name, ranks in by_metric.items():
            drawn = ranks[:1] if spec.ranks == "first" else ranks
            found.strands += [(view, summary) for summary in drawn]
            found.others[view.run_id, name] = ranks[len(drawn) :]
    # By metric first: what is cut away are whole charts, as far as it goes.
    found.strands.sort(key=lambda pair: pair[1].name)


def _bound(found: Picked) -> None:
    points, kept = 0, []
    for view, summary in found.strands[:MAX_STRANDS]:
        points += summary.points
        if points > MAX_POINTS:
            break
        kept.append((view, summary))
    if len(kept) < len(found.strands):
        found.notes.append(
            f"the first {len(kept):,} of {len(found.strands):,} series are shown "
            f"(at most {MAX_STRANDS:,}, and {MAX_POINTS:,} points): choose fewer runs or metrics"
        )
        found.strands = kept


class Reader:
    """Reads strands with the x axis of a spec; counts what has no place on it."""

    def __init__(self, spec: ChartSpec, index: Index) -> None:
        self._spec, self._index = spec, index
        self._axes: dict[tuple[str, int], Any] = {}
        self.lost = 0

    def read(self, view: RunView, metric: str, rank: int) -> Points:
        """One strand, its x in order."""
        columns = self._index.columns(view.run_id, metric, rank)
        steps, values = columns.steps.astype(np.float64), columns.values
        x = self._x(view, rank, steps, columns.times_us)
        there = np.isfinite(x)
        if self._spec.x_scale == "log":
            there &= x > 0
        if not there.all():
            self.lost += int(len(x) - there.sum())
            x, values, steps = x[there], values[there], steps[there]
        times = columns.times_us if there.all() else columns.times_us[there]
        if (x[1:] < x[:-1]).any():
            order = np.argsort(x, kind="stable")
            x, values, steps, times = x[order], values[order], steps[order], times[order]
        return Points(view, metric, rank, x, values, steps, times)

    def _x(self, view: RunView, rank: int, steps: Any, times_us: Any) -> Any:
        if self._spec.x == "step":
            return steps
        if self._spec.x == "time":
            return times_us / 1e6
        if self._spec.x == "relative":
            return (times_us - view.row["created_us"]) / 1e6
        return self._metric_at(view, rank, steps)

    def _metric_at(self, view: RunView, rank: int, steps: Any) -> Any:
        """The x metric's value at each step, its last where there are several; NaN for none."""
        known, values = self._axis(view, rank)
        if not len(known):
            return np.full(len(steps), np.nan)
        places = np.searchsorted(known, steps, side="right") - 1
        return np.where(known[places] == steps, values[places], np.nan)

    def _axis(self, view: RunView, rank: int) -> tuple[Any, Any]:
        name, key = self._spec.x_metric or "", (view.run_id, rank)
        if key not in self._axes:
            mine = self._index.has_metric(view.run_id, name, rank)
            columns = self._index.columns(view.run_id, name, rank if mine else 0)
            self._axes[key] = (columns.steps.astype(np.float64), columns.values)
        return self._axes[key]


def bad_places(points: Points) -> Iterator[tuple[int, str]]:
    """(place, "nan" | "inf" | "-inf") of the points that are no number."""
    for place in np.flatnonzero(~np.isfinite(points.y)).tolist():
        value = float(points.y[place])
        yield place, "nan" if value != value else "inf" if value > 0 else "-inf"
