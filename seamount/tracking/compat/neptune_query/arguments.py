"""Checks of arguments that every fetching function makes; each raises ValueError."""

from __future__ import annotations

from typing import Any

MAX_BUCKETS = 1000


def step_range(value: Any) -> None:
    """A pair of numbers or None, the lower one first."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError("step_range must be a tuple of two values")
    for which, edge in zip(("start", "end"), value, strict=True):
        if edge is not None and not isinstance(edge, int | float):
            raise ValueError(f"step_range {which} must be None or a number, not {edge!r}")
    if None not in value and value[0] > value[1]:
        raise ValueError("step_range start must be less than or equal to end")


def positive(name: str, value: Any) -> None:
    """None or a whole number above 0."""
    if value is not None and not isinstance(value, int):
        raise ValueError(f"{name} must be None or an integer, not {value!r}")
    if value is not None and value <= 0:
        raise ValueError(f"{name} must be greater than 0, not {value}")


def include_time(value: Any) -> None:
    """None or "absolute"."""
    if value not in (None, "absolute"):
        raise ValueError(f"include_time must be 'absolute', not {value!r}")


def sort_direction(value: Any) -> bool:
    """Whether the highest comes first."""
    if value not in ("asc", "desc"):
        raise ValueError(f"sort_direction '{value}' is invalid; must be 'asc' or 'desc'")
    return value == "desc"


def buckets(x: Any, limit: Any) -> None:
    """The x axis is the step; 1 to 1,000 buckets."""
    if x != "step":
        raise ValueError(f"x '{x}' is invalid; must be 'step'")
    if not isinstance(limit, int) or not 1 <= limit <= MAX_BUCKETS:
        raise ValueError(f"limit must be an integer from 1 to {MAX_BUCKETS}, not {limit!r}")
