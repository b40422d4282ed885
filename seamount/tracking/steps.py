"""Steps and times as a caller gives them, checked."""

from __future__ import annotations

import datetime
import math
import numbers
from typing import Any

from seamount.core.errors import UserError


def checked_step(step: Any) -> int | float:
    """`step` as int or float; raises UserError where it is not a finite number."""
    if isinstance(step, numbers.Integral):
        return int(step)
    try:
        value = float(step)
    except (TypeError, ValueError) as error:
        raise UserError(f"step {step!r} is not a number") from error
    if not math.isfinite(value):
        raise UserError(f"step {step!r} must be finite")
    return value


def microseconds(timestamp: float | datetime.datetime) -> int:
    """Seconds since 1970 UTC (or a datetime) in whole microseconds."""
    if isinstance(timestamp, datetime.datetime):
        timestamp = timestamp.timestamp()
    try:
        return int(timestamp * 1e6)
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"timestamp {timestamp!r} is not in seconds since 1970 UTC") from error
