"""What a chart shows, computed from all points of the store: the one source of page and picture.

The order of work: strands (a metric of a rank of a run) are read; means of ranks and groups made;
each curve smoothed over its whole length; then cut to the x range, and last to buckets. So a zoom
changes no value, and no bucket takes part in a sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seamount.core.wording import counted
from seamount.tracking.dashboard.charts.chart import Bad, Chart, Line, Straggler
from seamount.tracking.dashboard.charts.curves import Curve, curves_of
from seamount.tracking.dashboard.charts.digest import joint_digest
from seamount.tracking.dashboard.charts.envelope import bucket_edges, envelope
from seamount.tracking.dashboard.charts.labels import axis_label, group_name, run_names
from seamount.tracking.dashboard.charts.ranks import straggler
from seamount.tracking.dashboard.charts.scales import threshold_of
from seamount.tracking.dashboard.charts.sources import sources, within
from seamount.tracking.dashboard.charts.strands import Picked, Points, Reader, bad_places, pick
from seamount.tracking.dashboard.spec import ChartSpec

MAX_LINES = 200
MAX_WIDTH = 20_000
MAX_BAD = 100  # marks a line
NOTHING = "no run here has such a metric"
MAX_SEARCHED = 64  # ranks that are not drawn, looked through for a first bad step


def chart_data(
    spec: ChartSpec,
    store: str | Path | None = None,
    width: int = 1000,
    baseline: str | None = None,
) -> Chart:
    """The chart of `spec` for a plot `width` (2 to 20,000) pixels wide: at most 2 * width points a
    line, those that mark gaps and the ends of bands not counted.

    `baseline` is a run that is drawn too, whatever the spec selects. Raises QueryError and
    UserError for what cannot be read.
    """
    width = max(2, min(width, MAX_WIDTH))
    picked, strands, hidden, lost = read_strands(spec, store, baseline)
    if not strands:
        return Chart(
            spec, [], axis_label(spec.x, spec.x_metric), "", joint_digest([]), [],
            [*picked.notes, NOTHING], [], [], [], None, 1.0, 1.0,
        )  # fmt: skip
    return _Maker(spec, picked, strands, hidden, lost, baseline).chart(width)


def read_strands(
    spec: ChartSpec, store: str | Path | None, baseline: str | None = None
) -> tuple[Picked, list[Points], dict[tuple[str, str], list[Bad]], int]:
    """(what is selected, its points, first bad points of ranks that are not drawn, how many points
    have no place on the x axis)."""
    picked = pick(spec, store, baseline)
    if not picked.strands:
        return picked, [], {}, 0
    with picked.views[0].store.index() as index:
        reader = Reader(spec, index)
        strands = [reader.read(view, s.name, s.rank) for view, s in picked.strands]
        lost = reader.lost
        return picked, strands, _hidden_bad(picked, reader), lost


@dataclass
class _Maker:
    """Makes one chart of the strands that were read."""

    spec: ChartSpec
    picked: Picked
    strands: list[Points]
    hidden: dict[tuple[str, str], list[Bad]]
    lost: int
    baseline: str | None

    def chart(self, width: int) -> Chart:
        """The whole chart."""
        spec = self.spec
        curves = curves_of(spec, self.strands, self.baseline)
        notes = [*self.picked.notes, *self._notes(curves)]
        if len(curves) > MAX_LINES:
            notes.append(f"the first {MAX_LINES} of {len(curves):,} lines are drawn")
        curves = curves[:MAX_LINES]
        lows = [curve.x[0] for curve in curves if len(curve.x)]
        highs = [curve.x[-1] for curve in curves if len(curve.x)]
        extent = (float(min(lows)), float(max(highs))) if lows else None
        x_threshold = threshold_of(np.array([*lows, *highs], np.float64))
        edges = None
        if extent is not None:
            span = spec.x_range or extent
            buckets = width // 2
            edges = bucket_edges(span, buckets, spec.x_scale, x_threshold)
        names, slow = run_names(self.picked.views), self._stragglers()
        lines = [self._line(curve, edges, width, names, slow) for curve in curves]
        metrics = list(dict.fromkeys(line.metric for line in lines))
        given = sources(spec, self.strands)
        drawn = [line.y for line in lines if len(line.y)]
        return Chart(
            spec, lines, axis_label(spec.x, spec.x_metric),
            metrics[0] if len(metrics) == 1 else "",
            joint_digest(each.sha256 for each in given), given, notes, slow,
            list(dict.fromkeys(each.view.run_id for each in self.strands)),
            sorted({each.view.row["project"] for each in self.strands}), extent, x_threshold,
            threshold_of(np.concatenate(drawn)) if drawn else 1.0,
        )  # fmt: skip

    def _line(
        self, curve: Curve, edges: Any, width: int, names: dict[str, str], slow: list[Straggler]
    ) -> Line:
        first, spec = curve.of[0], self.spec
        y = curve.smooth(spec.smoothing)
        part = _visible(curve.x, spec.x_range)
        x, shown = curve.x[part], y[part]
        low = None if curve.low is None else curve.low[part]
        high = None if curve.high is None else curve.high[part]
        raw = None
        if spec.smoothing.kind != "none":
            before = curve.y[part]
            raw = _cut(width, edges, x, before)
            raw = (x[raw], before[raw])
        kept = _cut(width, edges, x, shown, low, high)
        bad = _sorted(_bad_of(curve.of, spec.x_range))
        alone = curve.rank if len(curve.of) == 1 else None
        late = {(each.run_id, each.metric, each.rank) for each in slow}
        return Line(
            run_id=next(iter(curve.run_ids)) if len(curve.run_ids) == 1 else None,
            name=self._name(curve, names), metric=first.metric, rank=curve.rank, group=curve.group,
            x=x[kept], y=shown[kept],
            low=None if low is None else low[kept], high=None if high is None else high[kept],
            raw=raw, bad=bad[:MAX_BAD], bad_points=len(bad), first_bad=self._first_bad(curve),
            points=len(x), runs=len(curve.run_ids), baseline=curve.baseline,
            straggler=alone is not None and (first.view.run_id, first.metric, alone) in late,
        )  # fmt: skip

    def _name(self, curve: Curve, names: dict[str, str]) -> str:
        first = curve.of[0]
        parts = [names[first.view.run_id]]
        if curve.group is not None:
            parts = [f"{group_name(curve.group)} ({counted(len(curve.run_ids), 'run')})"]
        if self.spec.ranks == "strands" and curve.rank is not None:
            parts.append(f"rank {curve.rank}")
        if self.spec.ranks == "mean" and curve.group is None and len(curve.of) > 1:
            parts.append(f"mean of {len(curve.of)} ranks")
        if not self.spec.split and len({each.metric for each in self.strands}) > 1:
            parts.append(first.metric)
        return " · ".join(parts)

    def _notes(self, curves: list[Curve]) -> list[str]:
        notes = []
        if self.lost:
            axis = "place on the log axis" if self.spec.x_scale == "log" else "x value"
            notes.append(f"left out: {counted(self.lost, 'point')} without {axis}")
        if any(curve.uneven for curve in curves):
            notes.append(
                "steps differ within a mean: each of its lines counts between its own points by "
                "the straight line, before its first and after its last not at all"
            )
        if any(curve.thinned for curve in curves):
            notes.append("a mean stands at one million of its steps, evenly picked")
        if self.spec.y_scale == "log":
            count = sum(int((curve.y <= 0).sum()) for curve in curves)
            if count:
                notes.append(f"{counted(count, 'value')} at or below 0 cannot be drawn on log y")
        return notes

    def _stragglers(self) -> list[Straggler]:
        """Of each run and metric whose ranks are all here."""
        if self.spec.ranks == "first":
            return []
        together: dict[tuple[str, str], dict[int, Any]] = {}
        for each in self.strands:
            order = np.lexsort((each.times_us, each.steps))
            columns = (each.steps[order], each.y[order], each.times_us[order])
            together.setdefault((each.view.run_id, each.metric), {})[each.rank] = columns
        found = [straggler(*key, ranks) for key, ranks in together.items()]
        return [each for each in found if each is not None]

    def _first_bad(self, curve: Curve) -> Bad | None:
        """The earliest bad point of any rank, by step and then by rank."""
        found = _bad_of(curve.of, None)
        for key in dict.fromkeys((each.view.run_id, each.metric) for each in curve.of):
            found += self.hidden.get(key, [])
        return min(found, key=lambda bad: (bad.step, bad.rank), default=None)


def _hidden_bad(picked: Picked, reader: Reader) -> dict[tuple[str, str], list[Bad]]:
    """The first bad points of ranks that are not drawn."""
    found: dict[tuple[str, str], list[Bad]] = {}
    searched = 0
    views = {view.run_id: view for view in picked.views}
    for (run_id, metric), ranks in picked.others.items():
        for summary in ranks:
            if summary.bad and searched < MAX_SEARCHED:
                searched += 1
                bad = _bad_of([reader.read(views[run_id], metric, summary.rank)], None)
                found.setdefault((run_id, metric), []).extend(_sorted(bad)[:1])
    return found


def _bad_of(strands: list[Points], x_range: tuple[float, float] | None) -> list[Bad]:
    return [
        Bad(each.view.run_id, each.rank, float(each.steps[place]), float(each.x[place]), value)
        for each in strands
        for place, value in bad_places(each)
        if x_range is None or x_range[0] <= each.x[place] <= x_range[1]
    ]


def _sorted(bad: list[Bad]) -> list[Bad]:
    return sorted(bad, key=lambda each: (each.x, each.step, each.rank))


def _visible(x: Any, x_range: tuple[float, float] | None) -> slice:
    """The points within the range, and one on either side: lines go on to the edge."""
    if x_range is None:
        return slice(0, len(x))
    start, end = within(x, x_range)
    return slice(max(0, start - 1), min(len(x), end + 1))


def _cut(width: int, edges: Any, x: Any, y: Any, low: Any = None, high: Any = None) -> Any:
    if len(x) <= 2 * width:
        return np.arange(len(x))
    return envelope(x, y, edges, low, high)
