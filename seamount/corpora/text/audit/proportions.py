"""A share with its interval, and values counted by bin."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

_Z = 1.959963984540054  # 95 % of the normal distribution lie within so many standard deviations


def wilson(hits: int, trials: int) -> tuple[float, float]:
    """95 % interval of a share by Wilson's score (1927); (0, 1) where nothing was tried."""
    if trials == 0:
        return 0.0, 1.0
    share, scale = hits / trials, 1 + _Z**2 / trials
    middle = (share + _Z**2 / (2 * trials)) / scale
    reach = _Z / scale * math.sqrt(share * (1 - share) / trials + (_Z / (2 * trials)) ** 2)
    low = 0.0 if hits == 0 else max(0.0, middle - reach)
    high = 1.0 if hits == trials else min(1.0, middle + reach)
    return low, high


def share(hits: int, trials: int) -> dict[str, Any]:
    """{hits, of, share (None where nothing was tried), low, high}."""
    low, high = wilson(hits, trials)
    return {
        "hits": hits,
        "of": trials,
        "share": hits / trials if trials else None,
        "low": low,
        "high": high,
    }


def bin_of(value: float, edges: Sequence[float]) -> int:
    """Which of the bins between sorted `edges` holds `value`; the last one holds its upper edge."""
    return min(max(0, bisect_right(edges, value) - 1), len(edges) - 2)
