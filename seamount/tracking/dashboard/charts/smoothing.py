"""Smoothing of a line by all of its points: exponential means, and windows that shrink at the ends.

Values are finite numbers in the order of the x axis. The results are those of pandas
(`ewm(alpha=1 - weight).mean()`, `ewm(halflife, times).mean()`, `rolling(window, center=True,
min_periods=1)`), which the tests compare with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from seamount.tracking.dashboard.spec import Smoothing

_SPAN = 100.0  # powers of two within a block: far from both ends of a double
_SHORT = 16  # points a block, below which a plain loop is quicker
_CHUNK = 1 << 22  # elements of a median's windows at a time
_NARROW = 64  # windows up to this are partitioned, wider ones kept sorted


def smoothed(y: Any, times_us: Any, how: Smoothing) -> Any:
    """`y` smoothed as `how` says; `times_us` are the points' times, for `time_ema`."""
    if how.kind == "none" or len(y) == 0:
        return y
    largest = np.abs(y).max()
    # Sums stay within a double; a power of two, so that nothing is rounded.
    unit = 2.0 ** (np.frexp(largest)[1] - 1) if largest > 1e200 else 1.0
    return _smoothed(y / unit, times_us, how) * unit


def _smoothed(y: Any, times_us: Any, how: Smoothing) -> Any:
    if how.kind == "ema":
        return y if how.weight == 0 else decayed_mean(y, np.arange(len(y)), -np.log2(how.weight))
    if how.kind == "time_ema":
        # A clock that was set back makes no weight grow.
        passed = np.maximum(np.diff(times_us, prepend=times_us[:1]), 0)
        return decayed_mean(y, np.cumsum(passed), 1 / (1e6 * how.half_life))
    return window_mean(y, how.window) if how.kind == "mean" else window_median(y, how.window)


def decayed_mean(y: Any, ages: Any, rate: float) -> Any:
    """Means in which a weight halves while `ages` (integers that never fall) grow by 1 / rate.

    Divided by the sum of the weights (the bias correction), so that the first points count in full.
    """
    return _decayed_sum(y, ages, rate) / _decayed_sum(np.ones(len(y)), ages, rate)


def _decayed_sum(y: Any, ages: Any, rate: float) -> Any:
    block = np.floor((ages - ages[0]) * rate / _SPAN)
    starts = np.flatnonzero(np.concatenate([[True], np.diff(block) > 0])).tolist()
    decay = np.exp2(-np.diff(ages, prepend=ages[:1]) * rate)
    if len(starts) * _SHORT > len(y):
        return _loop(y, decay)
    result, carry = np.empty(len(y)), 0.0
    for start, end in zip(starts, [*starts[1:], len(y)], strict=True):
        power = (ages[start:end] - ages[start]) * rate  # counted anew in each block: exact enough
        sums = np.cumsum(y[start:end] * np.exp2(power)) + carry * float(decay[start])
        result[start:end] = sums * np.exp2(-power)
        carry = float(result[end - 1])
    return result


def _loop(y: Any, decay: Any) -> Any:
    result, carry = [], 0.0
    for value, factor in zip(y.tolist(), decay.tolist(), strict=True):
        carry = carry * factor + value
        result.append(carry)
    return np.array(result)


def window_mean(y: Any, window: int) -> Any:
    """Mean of the `window` points around each (window // 2 before it), fewer at the ends.

    Sums of blocks' ends and beginnings, never differences: a spike leaves no trace outside.
    """
    count, width = len(y), min(window, 2 * len(y))
    left = width // 2
    blocks = -(-(count + width) // width) + 1
    padded = np.zeros(blocks * width)
    padded[left : left + count] = y
    rows = padded.reshape(blocks, width)
    from_start = np.cumsum(rows, axis=1).ravel()
    to_end = np.cumsum(rows[:, ::-1], axis=1)[:, ::-1].ravel()
    places = np.arange(count)
    ends = places + width - 1
    aligned = places % width == 0
    sums = np.where(aligned, from_start[ends], to_end[places] + from_start[ends])
    first, last = np.maximum(places - left, 0), np.minimum(ends - left, count - 1)
    return sums / (last - first + 1)


def window_median(y: Any, window: int) -> Any:
    """Median of the same windows."""
    count, width = len(y), min(window, 2 * len(y))
    left, right = width // 2, (width - 1) // 2
    if width > _NARROW:
        return _sorted_windows(y.tolist(), left, right)
    padded = np.full(count + left + right, np.nan)
    padded[left : left + count] = y
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    rows = max(1, _CHUNK // width)
    result = np.empty(count)
    for start in range(0, count, rows):
        chunk = windows[start : start + rows]
        whole = left <= start and start + len(chunk) <= count - right
        result[start : start + rows] = (np.median if whole else np.nanmedian)(chunk, axis=1)
    return result


def _sorted_windows(values: list[float], left: int, right: int) -> Any:
    """Each window is kept sorted: a value goes in, another goes out."""
    from bisect import bisect_left, insort

    inside = sorted(values[:right])
    result = np.empty(len(values))
    for place in range(len(values)):
        if place + right < len(values):
            insort(inside, values[place + right])
        if place - left > 0:
            inside.pop(bisect_left(inside, values[place - left - 1]))
        middle = len(inside) // 2
        odd = len(inside) % 2
        result[place] = inside[middle] if odd else (inside[middle - 1] + inside[middle]) / 2
    return result
