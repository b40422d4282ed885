"""Metrics of runs beside a baseline: values at one point, absolute and relative changes, verdicts.

change = value - baseline's value; relative = change / |baseline's value|, none where that is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seamount.tracking.dashboard.answers import plain
from seamount.tracking.dashboard.compare.direction import Direction, guessed
from seamount.tracking.dashboard.compare.spec import CompareSpec
from seamount.tracking.store.entries import Summary
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import known_ancestors

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Columns

MAX_METRICS = 2_000
MAX_READ = 4_000  # series whose points are read for one answer


@dataclass(frozen=True)
class Reached:
    """A metric of a run at the point that is compared; `step` None where it is not told."""

    value: float
    step: float | None = None


def compare_metrics(index: Index, spec: CompareSpec) -> dict[str, Any]:
    """{"rows", "total", "different", "notes"}; rows are bounded, sorted as the spec says.

    A row: name, better, guessed, step, cells (one a run: value, step, change, relative, verdict).
    """
    summaries = {run_id: _first_rank(index, run_id) for run_id in spec.every}
    names = sorted({name for found in summaries.values() for name in found})
    names = [name for name in names if spec.search.lower() in name.lower()]
    notes = []
    if len(names) > MAX_METRICS:
        notes.append(f"the first {MAX_METRICS:,} of {len(names):,} metrics: search for others")
    reader = _Reader(index, spec)
    rows = [_row(spec, name, summaries, reader) for name in names[:MAX_METRICS]]
    if reader.refused:
        notes.append(f"{reader.refused} values would need more than {MAX_READ:,} series to be read")
    different = [row for row in rows if row["different"]]
    shown = rows if spec.everything else different
    if spec.sort == "change":
        shown = sorted(shown, key=lambda row: (-row["size"], row["name"]))
    for row in shown:
        del row["size"]
    return {"rows": shown, "total": len(names), "different": len(different), "notes": notes}


def _first_rank(index: Index, run_id: str) -> dict[str, Summary]:
    """Metric -> summary of its lowest rank."""
    found: dict[str, Summary] = {}
    for each in index.summaries(run_id):
        if each.name not in found or each.rank < found[each.name].rank:
            found[each.name] = each
    return found


class _Reader:
    """The value of a metric of a run at the spec's point; points are read where they must be."""

    def __init__(self, index: Index, spec: CompareSpec) -> None:
        self._index, self._spec = index, spec
        self._read = 0
        self.refused = 0

    def reached(self, run_id: str, known: Summary, way: Direction, step: float) -> Reached | None:
        if self._spec.at == "last":
            return Reached(known.last_value, known.last_step)
        if self._spec.at == "best" and way == "none":
            return None
        if self._read >= MAX_READ:
            self.refused += 1
            return None
        self._read += 1
        whole = bool(known_ancestors(self._index, run_id))
        found = self._index.columns(run_id, known.name, known.rank, lineage=whole)
        if self._spec.at == "best":
            return _best(found, way)
        place = int(np.searchsorted(found.steps, step, "right")) - 1
        return Reached(float(found.values[place]), _step(found, place)) if place >= 0 else None


def _best(found: Columns, way: Direction) -> Reached | None:
    """The lowest or highest finite value, and the first step that had it."""
    finite = np.isfinite(found.values)
    if not finite.any():
        return None
    values = np.where(finite, found.values, math.inf if way == "lower" else -math.inf)
    place = int(values.argmin() if way == "lower" else values.argmax())
    return Reached(float(values[place]), _step(found, place))


def _step(found: Columns, place: int) -> float:
    step = found.steps[place]
    return step.item() if isinstance(step, np.generic) else step


def _row(
    spec: CompareSpec, name: str, summaries: Mapping[str, Mapping[str, Summary]], reader: _Reader
) -> dict[str, Any]:
    suggested = guessed(name)
    way: Direction = spec.better.get(name, suggested)
    known = {run_id: found[name] for run_id, found in summaries.items() if name in found}
    step = min(each.last_step for each in known.values()) if spec.step is None else spec.step
    reached = {
        run_id: reader.reached(run_id, known[run_id], way, step) if run_id in known else None
        for run_id in spec.every
    }
    cells = [_cell(reached[run_id], reached[spec.base], way) for run_id in spec.every]
    return {
        "name": name, "better": way, "guessed": suggested,
        "step": step if spec.at == "step" else None,
        "different": len({_key(each) for each in reached.values()}) > 1,
        "size": _size([each["relative"] for each in cells[1:]], [e["change"] for e in cells[1:]]),
        "cells": cells,
    }  # fmt: skip


def _key(reached: Reached | None) -> str:
    return "" if reached is None else repr(float(reached.value))


def _cell(mine: Reached | None, base: Reached | None, way: Direction) -> dict[str, Any]:
    if mine is None:
        return {"value": None, "step": None, "change": None, "relative": None, "verdict": None}
    found = {"value": plain(float(mine.value)), "step": plain(mine.step)}
    if base is None:
        return found | {"change": None, "relative": None, "verdict": None}
    change, relative = changes(mine.value, base.value)
    return found | {
        "change": change, "relative": relative, "verdict": verdict(mine.value, base.value, way)
    }  # fmt: skip


def changes(value: float, base: float) -> tuple[float | None, float | None]:
    """(absolute, relative) change; None where it is no finite number."""
    if not (math.isfinite(value) and math.isfinite(base)):
        return None, None
    change = value - base
    relative = change / abs(base) if base else (0.0 if change == 0 else None)
    return (
        change if math.isfinite(change) else None,
        relative if relative is not None and math.isfinite(relative) else None,
    )


def verdict(value: float, base: float, way: Direction) -> str | None:
    """`better`, `worse`, or None; a NaN is worse than any number that is none."""
    if way == "none" or value == base or (math.isnan(value) and math.isnan(base)):
        return None
    if math.isnan(value) or math.isnan(base):
        return "better" if math.isnan(base) else "worse"
    return "better" if (value < base) == (way == "lower") else "worse"


def _size(relatives: list[float | None], absolutes: list[float | None]) -> float:
    """How much a row changes, for sorting: the largest relative change; what has none comes first
    where it changed from 0, and last where there is nothing to compare."""
    sizes = [
        abs(relative) if relative is not None else math.inf if change else -1.0
        for relative, change in zip(relatives, absolutes, strict=True)
    ]
    return max(sizes, default=-1.0)
