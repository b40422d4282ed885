"""Steps and times as users give them."""

from __future__ import annotations

import datetime
import math
import numbers
from typing import Any

from seamount.core.errors import UserError

FIRST_US = -62_135_596_800_000_000  # the year 1
LAST_US = 253_402_300_799_999_999  # the end of 9999: what datetimes and tables of times can say
_INT64 = 1 << 63


def check(step: Any) -> int | float:
    """`step` as int or finite float; raises UserError for anything else."""
    if isinstance(step, numbers.Integral):
        whole = int(step)
        if not -_INT64 <= whole < _INT64:
            raise UserError(f"step {whole} does not fit 64 bits")
        return whole
    try:
        value = float(step)
    except (TypeError, ValueError) as error:
        raise UserError(f"step {step!r} is not a number") from error
    if not math.isfinite(value):
        raise UserError(f"step {step!r} must be finite")
    return value


def time_us(timestamp: float | datetime.datetime) -> int:
    """Microseconds since 1970 UTC of seconds since then, or of a datetime; UserError for others."""
    if isinstance(timestamp, datetime.datetime):
        timestamp = timestamp.timestamp()
    try:
        found = round(timestamp * 1e6)
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"timestamp {timestamp!r} is not in seconds since 1970 UTC") from error
    if not FIRST_US <= found <= LAST_US:
        raise UserError(f"timestamp {timestamp!r} is outside the years 1 to 9999: give seconds")
    return found


def completion(preview: bool, completion: float | None, step: float | None) -> float:
    """How far a preview was, 0 to 1, NaN where that is not said; raises UserError if it is none."""
    if not preview:
        raise UserError(f"preview_completion {completion!r} is for previews: add preview=True")
    if step is None:
        raise UserError("a preview needs a step: the final value of that step takes its place")
    if completion is None:
        return math.nan
    if isinstance(completion, bool) or not isinstance(completion, numbers.Real):
        raise UserError(f"preview_completion {completion!r} is not a number from 0 to 1")
    if not 0 <= completion <= 1:
        raise UserError(f"preview_completion {completion!r} is not from 0 to 1")
    return float(completion)
