"""Whether the store still holds what a picture shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.wording import counted
from seamount.tracking.dashboard.chart_data import read_strands
from seamount.tracking.dashboard.charts.digest import joint_digest
from seamount.tracking.dashboard.charts.sources import Key, sources
from seamount.tracking.dashboard.charts.strands import Points, select_runs
from seamount.tracking.dashboard.plot.embedded import ChartData, Embedded, chart_spec
from seamount.tracking.dashboard.spec import ChartSpec

SAME, GROWN, CHANGED, MISSING = "same", "grown", "changed", "missing"
_WORST = (SAME, GROWN, CHANGED, MISSING)


@dataclass(frozen=True)
class Match:
    """`state`: "same"; "grown" (all that is drawn is there unchanged, newer points follow);
    "changed"; "missing" (a run is gone). `details` are sentences; `digest` is today's."""

    state: str
    digest: str
    details: list[str]

    @property
    def same(self) -> bool:
        """Whether the picture drawn now would show the same data."""
        return self.state == SAME


def match(embedded: Embedded, store: str | Path | None = None) -> Match:
    """Compare a picture with the store; raises UserError where there is none."""
    found = [
        _match_chart(chart_spec(embedded, place), embedded.view.charts[place], chart,
                     store, embedded.view.baseline)
        for place, chart in enumerate(embedded.charts)
    ]  # fmt: skip
    state = max((each.state for each in found), key=_WORST.index, default=SAME)
    details = list(dict.fromkeys(text for each in found for text in each.details))
    return Match(state, joint_digest(each.digest for each in found), details)


def _match_chart(
    spec: ChartSpec,
    asked: ChartSpec,
    drawn: ChartData,
    store: str | Path | None,
    baseline: str | None,
) -> Match:
    strands = read_strands(spec, store, baseline)[1] if drawn.run_ids else []
    digest = joint_digest(each.sha256 for each in sources(spec, strands))
    details = _selection(asked, drawn, store, baseline)
    there = {each.view.run_id for each in strands}
    gone = [run_id for run_id in drawn.run_ids if run_id not in there]
    if gone:
        some = ", ".join(gone[:3]) + (", ..." if len(gone) > 3 else "")
        details.insert(0, f"{counted(len(gone), 'run')} of the picture cannot be found ({some})")
        return Match(MISSING, digest, details)
    if digest == drawn.digest:
        return Match(SAME, digest, details)
    state, reasons = _differences(spec, drawn, strands)
    return Match(state, digest, [*reasons, *details])


def _selection(
    asked: ChartSpec, drawn: ChartData, store: str | Path | None, baseline: str | None
) -> list[str]:
    """What the view's filter selects now and did not then."""
    now = {view.run_id for view in select_runs(asked.runs, store)[0]} - {baseline}
    more = now - set(drawn.run_ids)
    return [f"the view now selects {counted(len(more), 'run')} more"] if more else []


def _differences(spec: ChartSpec, drawn: ChartData, strands: list[Points]) -> tuple[str, list[str]]:
    """(GROWN or CHANGED, reasons), from the digests of the strands up to where they ended."""
    if drawn.strands is None:
        return CHANGED, ["its data differ"]
    before: dict[Key, Any] = {(s.run_id, s.metric, s.rank): s for s in drawn.strands}
    until = {key: each.last for key, each in before.items()}
    now = {(s.run_id, s.metric, s.rank): s for s in sources(spec, strands, until)}
    other = [
        key for key, each in before.items() if key not in now or now[key].sha256 != each.sha256
    ]
    whole = {(s.run_id, s.metric, s.rank): s.points for s in sources(spec, strands)}
    newer = sum(whole.values()) - sum(each.points for each in before.values())
    if not other:
        count = counted(newer, "newer point")
        return GROWN, [f"what is drawn is unchanged, and {count} came since"]
    run_id, metric, rank = other[0]
    series = f"{len(other):,} of {len(before):,} series"
    return CHANGED, [f"{series} differ, the first is {metric} of run {run_id} (rank {rank})"]
