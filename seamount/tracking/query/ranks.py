"""Statistics on ranks in plain Python: mid-ranks, Pearson's r, Kruskal-Wallis' epsilon."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, start = [0.0] * len(values), 0
    for _, group in groupby(order, key=values.__getitem__):
        tied = list(group)
        for place in tied:
            found[place] = start + (len(tied) + 1) / 2
        start += len(tied)
    return found


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's r; None where one side does not vary. Of ranks it is Spearman's rho."""
    if len(left) < 2:
        return None
    mean_left, mean_right = math.fsum(left) / len(left), math.fsum(right) / len(right)
    a, b = [x - mean_left for x in left], [y - mean_right for y in right]
    scale = math.sqrt(math.fsum(x * x for x in a) * math.fsum(y * y for y in b))
    if scale == 0:
        return None
    r = math.fsum(x * y for x, y in zip(a, b, strict=True)) / scale
    return max(-1.0, min(1.0, r))


def epsilon(groups: Sequence[str], values: Sequence[float]) -> float | None:
    """Root of the share of the ranks' variance that lies between groups: sqrt(H / (n - 1)).

    H is Kruskal & Wallis' statistic corrected for ties. None where the values do not vary.
    """
    ranked = ranks(values)
    mean = (len(values) + 1) / 2
    whole = math.fsum((r - mean) ** 2 for r in ranked)
    if whole == 0:
        return None
    members: dict[str, list[float]] = defaultdict(list)
    for group, rank in zip(groups, ranked, strict=True):
        members[group].append(rank)
    between = math.fsum(len(m) * (math.fsum(m) / len(m) - mean) ** 2 for m in members.values())
    return math.sqrt(min(1.0, between / whole))
