"""A chart as it is drawn: lines as arrays, and what has to be said beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from seamount.tracking.dashboard.spec import ChartSpec


@dataclass(frozen=True)
class Bad:
    """A point that is no number: `value` is nan, inf or -inf."""

    run_id: str
    rank: int
    step: float
    x: float
    value: str


@dataclass(frozen=True)
class Line:
    """One line: of a run (and rank), or of `runs` runs in the group `group`.

    x ascends; y is NaN where the line has a gap, which is where a point was no number. `raw` is the
    same line before smoothing. `points` counts before buckets, `bad_points` what `bad` (the
    first ones) stands for; `first_bad` is the earliest of any rank, drawn or not.
    """

    run_id: str | None
    name: str
    metric: str
    rank: int | None
    group: dict[str, Any] | None
    x: Any
    y: Any
    low: Any = None
    high: Any = None
    raw: tuple[Any, Any] | None = None
    bad: list[Bad] = field(default_factory=list)
    bad_points: int = 0
    first_bad: Bad | None = None
    points: int = 0
    runs: int = 1
    straggler: bool = False
    baseline: bool = False

    def to_json(self) -> dict[str, Any]:
        """As JSON values; a gap is null."""
        raw = self.raw and {"x": self.raw[0].tolist(), "y": _plain(self.raw[1])}
        return {
            "run_id": self.run_id, "name": self.name, "metric": self.metric, "rank": self.rank,
            "group": self.group, "x": self.x.tolist(), "y": _plain(self.y),
            "low": None if self.low is None else _plain(self.low),
            "high": None if self.high is None else _plain(self.high),
            "raw": raw, "bad": [vars(each) for each in self.bad], "bad_points": self.bad_points,
            "first_bad": self.first_bad and vars(self.first_bad), "points": self.points,
            "runs": self.runs, "straggler": self.straggler, "baseline": self.baseline,
        }  # fmt: skip


@dataclass(frozen=True)
class Straggler:
    """The slowest rank of a run's metric, and the one whose values lie farthest from the others'.

    `rank` stopped `behind` steps before the others; or (behind = 0) it logged last at more than
    half of the steps, `late_s` seconds after the middle rank. None where no rank is so.
    """

    run_id: str
    metric: str
    rank: int | None
    behind: float
    late_s: float
    farthest_rank: int | None
    farthest: float


@dataclass(frozen=True)
class Strand:
    """The digest of what one rank of one run gave to the chart, between x `first` and `last`, and
    the lowest and highest step of it."""

    run_id: str
    metric: str
    rank: int
    points: int
    first: float | None
    last: float | None
    steps: tuple[float, float] | None
    sha256: str


@dataclass(frozen=True)
class Chart:
    """Lines and what they are of. `notes` say in sentences what is left out or joined how.

    `x_threshold` and `y_threshold` are where a symlog axis turns (see scales.py). `digest` is that
    of all strands (see digest.py); `run_ids` and `projects` are all that took
    part.
    """

    spec: ChartSpec
    lines: list[Line]
    x: str
    y: str
    digest: str
    strands: list[Strand]
    notes: list[str]
    stragglers: list[Straggler]
    run_ids: list[str]
    projects: list[str]
    x_extent: tuple[float, float] | None
    x_threshold: float
    y_threshold: float

    def by_metric(self) -> Mapping[str, list[Line]]:
        """Metric -> its lines, or the title -> all of them where the chart is not split."""
        if not self.spec.split:
            return {self.spec.title or self.y: self.lines} if self.lines else {}
        found: dict[str, list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.metric, []).append(line)
        return found

    def to_json(self) -> dict[str, Any]:
        """As JSON values, for the page."""
        return {
            "lines": [line.to_json() for line in self.lines], "x": self.x, "y": self.y,
            "digest": self.digest, "notes": self.notes,
            "stragglers": [vars(each) for each in self.stragglers],
            "spec": self.spec.model_dump(mode="json"), "runs": self.run_ids,
            "x_extent": self.x_extent,
            "x_threshold": self.x_threshold, "y_threshold": self.y_threshold,
        }  # fmt: skip


def _plain(values: Any) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]
