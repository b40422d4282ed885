"""What a piece of a segment adds to the summary of each series."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seamount.tracking.segments.blocks import Block


@dataclass
class Aggregate:
    """Count, extremes and last of some points of one series; `last` = (step, time, sequence).

    `previews` are counted apart: nothing else knows of them.
    """

    points: int = 0
    previews: int = 0
    bad: int = 0
    min_step: Any = None
    last: Any = None
    last_value: float = 0.0
    min_value: float | None = None
    max_value: float | None = None

    def add(self, step: float, time_us: int, sequence: int, value: float) -> None:
        """Count one point."""
        self.points += 1
        if self.min_step is None or step < self.min_step:
            self.min_step = step
        if self.last is None or (step, time_us, sequence) >= self.last:
            self.last, self.last_value = (step, time_us, sequence), value
        if value - value != 0:  # NaN or infinite
            self.bad += 1
            return
        if self.min_value is None or value < self.min_value:
            self.min_value = value
        if self.max_value is None or value > self.max_value:
            self.max_value = value

    def merge(self, other: Aggregate) -> None:
        """Count what `other` holds."""
        self.previews += other.previews
        if not other.points:
            return
        self.points += other.points
        self.bad += other.bad
        if self.min_step is None or other.min_step < self.min_step:
            self.min_step = other.min_step
        if self.last is None or other.last >= self.last:
            self.last, self.last_value = other.last, other.last_value
        if other.min_value is None or other.max_value is None:
            return
        if self.min_value is None or other.min_value < self.min_value:
            self.min_value = other.min_value
        if self.max_value is None or other.max_value > self.max_value:
            self.max_value = other.max_value

    def save(self, db: sqlite3.Connection, series_id: int, revision: int) -> None:
        """Add to the row of the series."""
        if self.previews:
            query = "UPDATE series SET previews = previews + ? WHERE id = ?"
            db.execute(query, (self.previews, series_id))
        if not self.points:
            return
        step, time_us, _ = self.last
        db.execute(_MERGE, {
            "id": series_id, "revision": revision, "points": self.points, "bad": self.bad,
            "min_step": self.min_step, "step": step, "us": time_us, "value": self.last_value,
            "min": self.min_value, "max": self.max_value,
        })  # fmt: skip


def of_block(block: Block) -> list[Aggregate]:
    """One aggregate a name of the block."""
    import numpy as np

    if block.completion is not None:
        return [Aggregate(previews=len(block.values)) for _ in block.names]
    last = np.lexsort((block.sequence, block.time_us, block.steps))[-1]
    place = (block.steps[last].item(), block.time_us[last].item(), block.sequence[last].item())
    finite = np.isfinite(block.values)
    bad = (len(finite) - finite.sum(axis=0)).tolist()
    lowest = np.where(finite, block.values, np.inf).min(axis=0).tolist()
    highest = np.where(finite, block.values, -np.inf).max(axis=0).tolist()
    count, min_step = len(finite), block.steps.min().item()
    return [
        Aggregate(count, 0, bad[i], min_step, place, value,
                  *((lowest[i], highest[i]) if bad[i] < count else (None, None)))
        for i, value in enumerate(block.values[last].tolist())
    ]  # fmt: skip


_MERGE = """UPDATE series SET
    points = points + :points, bad = bad + :bad,
    min_step = CASE WHEN min_step IS NULL OR :min_step < min_step THEN :min_step ELSE min_step END,
    last_value = CASE WHEN last_step IS NULL OR (:step, :us) >= (last_step, last_us)
                      THEN :value ELSE last_value END,
    last_us = CASE WHEN last_step IS NULL OR (:step, :us) >= (last_step, last_us)
                   THEN :us ELSE last_us END,
    last_step = CASE WHEN last_step IS NULL OR :step >= last_step THEN :step ELSE last_step END,
    min_value = min(ifnull(min_value, :min), ifnull(:min, min_value)),
    max_value = max(ifnull(max_value, :max), ifnull(:max, max_value)),
    revision = :revision WHERE id = :id"""
