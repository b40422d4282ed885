"""The run with the best value of a metric, and the checkpoint that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.query.filters import Column, Operand
from seamount.tracking.query.histories import split_rank, values_of
from seamount.tracking.query.patterns import compile_pattern
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import Where, runs

CHECKPOINT = r"(?i)(ckpt|checkpoint|weights|model|\.safetensors|\.pth?$|\.bin$|\.onnx$)"
_STEP = re.compile(r"step\D{0,3}(\d{1,18})", re.I)
_NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True)
class Best:
    """`checkpoint` is a file or folder name of the run, None if it has none; `reason` says why."""

    run: RunView
    metric: str
    value: float
    step: float
    checkpoint: str | None
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "run_id": self.run.run_id, "project": self.run.project, "name": self.run.name,
            "metric": self.metric, "value": self.value, "step": self.step,
            "checkpoint": self.checkpoint, "reason": self.reason,
        }  # fmt: skip


def best(
    metric: str,
    mode: str = "min",
    where: Where = None,
    *,
    checkpoint: str = CHECKPOINT,
    project: str | None = None,
    search: str | None = None,
    store: str | Path | None = None,
) -> Best:
    """The run whose `metric` was ever lowest (`min`) or highest (`max`), and where.

    Not finite values do not count; of equal runs the newest is taken, of equal steps the first.
    `checkpoint` is an extended regex for names of checkpoint files: the one whose name holds the
    best step is taken, else the last before it, else the only one without a step. Raises UserError
    where no selected run has the metric.
    """
    if mode not in ("min", "max"):
        raise UserError(f"mode {mode!r} must be min or max")
    column = Operand(mode, metric)
    sort = f"{'-' if mode == 'max' else ''}{column}"
    table = runs(
        where, store=store, project=project, search=search, sort=sort, limit=1,
        columns=[Column(column)],
    )  # fmt: skip
    value = table[0][str(column)] if len(table) else None
    if value is None:
        raise UserError(f"no selected run has a finite value of metric {metric!r}")
    step = _step_of(table[0], metric, value)
    name, reason = checkpoint_at(table[0].artifacts, step, checkpoint)
    return Best(table[0], metric, value, step, name, reason)


def checkpoint_at(
    names: Iterable[str], step: float | None, pattern: str = CHECKPOINT
) -> tuple[str | None, str]:
    """(file or folder, why) of the checkpoint that belongs to `step`, or the newest for None."""
    matches = compile_pattern(pattern).matches
    found = [name for name in names if matches(name)]
    if not found:
        return None, "the run has no file with a checkpoint's name"
    numbered = dict(sorted(pair for name in found for pair in _steps(name)))
    fitting = [number for number in numbered if step is None or number <= step]
    if fitting:
        return numbered[max(fitting)], f"the last at or before it, by its name: {max(fitting)}"
    plain = [name for name in found if not list(_steps(name))]
    if len(plain) == 1:
        return plain[0], "the only one without a step in its name"
    if plain:
        folders = {name.rpartition("/")[0] for name in plain}
        if len(folders) == 1 and "" not in folders:
            return folders.pop(), "the only folder without a step in its name"
        return None, f"{len(plain)} files could be meant, none with a step in its name"
    return None, f"every checkpoint is of a later step ({min(numbered)} is the first)"


def _steps(name: str) -> Iterator[tuple[int, str]]:
    """(step, file or folder) that a path's parts name."""
    parts = name.split("/")
    for place, part in enumerate(parts):
        found = _STEP.findall(part) or _NUMBER.findall(part)
        if found:
            yield int(found[-1]), "/".join(parts[: place + 1])
            return


def _step_of(run: RunView, metric: str, value: float) -> float:
    with run.store.index() as index:
        for name, rank in split_rank(metric):
            steps, values = values_of(index, run.run_id, name, rank)
            if value in values:
                return steps[values.index(value)]
    raise UserError(f"metric {metric!r} of run {run.run_id} changed meanwhile: ask again")
