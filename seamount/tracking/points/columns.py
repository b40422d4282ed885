"""Points as numpy columns: `Rows` of many series as they are stored, `Columns` of one as asked for.

A step is an int or a float and comes back as which it was logged: `step` holds its floor (within 64
bits), `real` the float itself, or NaN where it was an int. `preview` is NaN for a final point; for
a preview it is how far that was, 0 to 1, or -1 where that was not said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from seamount.tracking.segments.blocks import Block
from seamount.tracking.store.entries import UNSAID, Point, point

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_LAST_EXACT = 2**63 - 1024  # the largest int64 that is a double


@dataclass(frozen=True)
class Rows:
    """Points of many series: arrays of equal length (int64; float64: real, value, preview)."""

    series: Any
    segment: Any
    sequence: Any
    step: Any
    real: Any
    time_us: Any
    value: Any
    preview: Any

    def __len__(self) -> int:
        return len(self.series)

    def take(self, which: Any) -> Rows:
        """The rows that an index array, a mask or a slice names."""
        return Rows(*(getattr(self, field.name)[which] for field in fields(self)))

    def in_order(self) -> Rows:
        """By series, step, time, segment and sequence."""
        if _ordered(self._keys()):
            return self
        return self.take(np.lexsort(list(self._keys())[::-1]))

    def _keys(self) -> Iterator[Any]:
        """What rows are sorted by, most significant first; each is made when it is asked for."""
        yield self.series
        yield self.step
        yield within(self.step, self.real)
        yield self.time_us
        yield self.segment
        yield self.sequence

    def below(self, step: float) -> Any:
        """Mask of the rows whose step is lower than `step`."""
        limit, inside = bound(step)
        lower = within(self.step, self.real) < inside
        return (self.step < limit) | ((self.step == limit) & lower)

    def up_to(self, step: float) -> Any:
        """Mask of the rows whose step is `step` or lower."""
        limit, inside = bound(step)
        lower = within(self.step, self.real) <= inside
        return (self.step < limit) | ((self.step == limit) & lower)

    def final(self) -> Rows:
        """The rows that are no previews."""
        final = np.isnan(self.preview)
        return self if final.all() else self.take(final)

    def settled(self) -> Rows:
        """Rows in order without the previews that a final point or a later preview replaced."""
        final = np.isnan(self.preview)
        if final.all():
            return self
        inside = within(self.step, self.real)
        other = [key[1:] != key[:-1] for key in (self.series, self.step, inside)]
        starts = np.concatenate([[True], other[0] | other[1] | other[2]])
        decided = np.logical_or.reduceat(final, np.flatnonzero(starts))[np.cumsum(starts) - 1]
        newest = np.concatenate([starts[1:], [True]])
        return self.take(final | (newest & ~decided))


@dataclass(frozen=True)
class Columns:
    """Points of one metric by step, then time.

    `steps` is int64 if all were logged as ints, float64 if all were floats, else objects; `floors`
    are the steps rounded down, as int64. `previews` is NaN for a final point, for a preview how far
    it was, 0 to 1, or -1 where that was not said.
    """

    steps: Any
    floors: Any
    times_us: Any
    values: Any
    previews: Any

    def __len__(self) -> int:
        return len(self.values)

    def take(self, which: Any) -> Columns:
        """The points that an index array, a mask or a slice names."""
        return Columns(*(getattr(self, field.name)[which] for field in fields(self)))

    def points(self) -> list[Point]:
        """The same as Point objects."""
        rows = zip(self.steps.tolist(), self.values.tolist(), self.times_us.tolist(), strict=True)
        if np.isnan(self.previews).all():
            return [Point(*row) for row in rows]
        shares = self.previews.tolist()
        return [point(*row, share) for row, share in zip(rows, shares, strict=True)]


def columns_of(rows: Rows) -> Columns:
    """`rows` of one series, which are in order, as Columns."""
    steps = _steps(rows.step, rows.real)
    return Columns(steps, rows.step, rows.time_us, rows.value, rows.preview)


def rows_of(block: Block, series: Sequence[int | None], segment: int) -> Rows:
    """The points of a block; `series` names the id of each of its columns, None to leave it out."""
    wanted = [place for place, number in enumerate(series) if number is not None]
    ids = np.array([series[place] for place in wanted], np.int64)
    count, width = len(block.sequence), len(wanted)
    values = block.values if width == len(series) else block.values[:, wanted]
    step, real = split_steps(block.steps)
    sequence, floor, floats, time_us = (
        np.tile(column, width) for column in (block.sequence, step, real, block.time_us)
    )
    segments = np.full(count * width, segment, np.int64)
    preview = (
        np.full(count * width, np.nan) if block.completion is None
        else np.tile(np.where(np.isnan(block.completion), UNSAID, block.completion), width)
    )  # fmt: skip
    return Rows(
        np.repeat(ids, count), segments, sequence, floor, floats, time_us, values.T.ravel(), preview
    )


def joined(pieces: Sequence[Rows]) -> Rows:
    """Rows of several pieces, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return nothing()
    names = [field.name for field in fields(Rows)]
    return Rows(*(np.concatenate([getattr(each, name) for each in pieces]) for name in names))


def nothing() -> Rows:
    """No rows."""
    whole, real = np.empty(0, np.int64), np.empty(0)
    return Rows(whole, whole, whole, whole, real, whole, real, real)


def bound(step: float) -> tuple[Any, Any]:
    """(floor, what orders within it) of one step."""
    floor, real = split_steps(np.array([step], object if type(step) is int else np.float64))
    return floor[0], within(floor, real)[0]


def split_steps(steps: Any) -> tuple[Any, Any]:
    """(floor, real) of an array of steps that are all ints or all floats."""
    if steps.dtype != np.float64:
        return steps.astype(np.int64), np.full(len(steps), np.nan)
    floor = np.floor(steps)
    inside = np.abs(floor) < 2.0**63
    whole = np.where(inside, floor, 0.0).astype(np.int64)
    return np.where(inside, whole, np.where(floor < 0, _LOWEST, _HIGHEST)), steps.copy()


def within(step: Any, real: Any) -> Any:
    """A double that orders steps of one floor, so that (floor, this) sorts ints and floats exactly.

    Where floats can have the same floor, an int is exact as a double, or (at the end of 64 bits,
    where the floor of larger floats is cut) lower than all of them.
    """
    return np.where(np.isnan(real), np.minimum(step, _LAST_EXACT).astype(np.float64), real)


def _steps(step: Any, real: Any) -> Any:
    whole = np.isnan(real)
    if whole.all():
        return step
    if not whole.any():
        return real
    mixed = real.astype(object)
    mixed[whole] = step[whole]
    return mixed


def _ordered(keys: Iterator[Any]) -> bool:
    """Whether rows stand in the order of `keys`, most significant first."""
    undecided: Any = True
    for key in keys:
        before, after = key[:-1], key[1:]
        if (undecided & (after < before)).any():
            return False
        undecided = undecided & (after == before)
        if not undecided.any():
            return True
    return True
