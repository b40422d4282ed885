"""What the index hands out: a point of a metric, and a metric's summary."""

from __future__ import annotations

from dataclasses import dataclass

UNSAID = -1.0


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a metric; `step` is int or float as it was logged.

    A preview may say how far the computation behind it was, 0 to 1.
    """

    step: float
    value: float
    time_us: int
    preview: bool = False
    preview_completion: float | None = None


def point(step: float, value: float, time_us: int, share: float) -> Point:
    """A Point whose `share` is NaN, or that of a preview: how far it was, UNSAID if not said."""
    if share != share:
        return Point(step, value, time_us)
    return Point(step, value, time_us, True, None if share == UNSAID else share)


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric of one rank: how many points (all attempts), the newest attempt's last, min, max.

    What an earlier attempt reached before its restart step is in the history and in `min(NAME)` of
    a query, not in `min_value`. SQLite knows no -0.0: here it is 0.0, in the points it stays.
    """

    name: str
    rank: int
    points: int
    bad: int
    last_step: float
    last_us: int
    last_value: float
    min_value: float | None
    max_value: float | None
