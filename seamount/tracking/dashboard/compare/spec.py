"""What is compared: which runs, with which of them, and at which point of their metrics."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from seamount.core.errors import UserError
from seamount.tracking.dashboard.spec import Number, RunId, Short, Spec, Text

MAX_RUNS = 20
Better = Literal["lower", "higher", "none"]


class CompareSpec(Spec):
    """`runs` beside `baseline` (the first of them where none is named).

    Metrics are taken at their `last` point, at their `best` (the lowest or highest finite value, by
    direction), or at one `step` that all have reached: each run's newest point up to it. `better`
    overrides the direction that a metric's name suggests. Only differences, unless `everything`.
    """

    runs: Annotated[tuple[RunId, ...], Field(min_length=1, max_length=MAX_RUNS)]
    baseline: RunId | None = None
    at: Literal["last", "best", "step"] = "last"
    step: Number | None = None
    better: Annotated[dict[Short, Better], Field(default_factory=dict, max_length=100)]
    everything: bool = False
    sort: Literal["change", "name"] = "change"
    search: Text = ""

    @model_validator(mode="after")
    def _no_run_twice(self) -> CompareSpec:
        if len(set(self.runs)) != len(self.runs):
            raise UserError("a run is named twice: name each once")
        return self

    @property
    def base(self) -> str:
        """The run that the others are compared with."""
        return self.baseline or self.runs[0]

    @property
    def every(self) -> tuple[str, ...]:
        """The runs in their order, the baseline first."""
        return (self.base, *(run_id for run_id in self.runs if run_id != self.base))
