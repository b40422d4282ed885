"""Which rank of a run is behind the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from seamount.tracking.dashboard.charts.chart import Straggler

_STEPS = 10_000  # the last so many that all ranks have are looked at


def straggler(
    run_id: str, metric: str, ranks: Mapping[int, tuple[Any, Any, Any]]
) -> Straggler | None:
    """The slowest and the farthest rank, of rank -> (steps, values, times_us) by step.

    The slowest is the one that stopped at the lowest step, if that is only one; or else the one
    that logged last at more than half of the common steps. The farthest has the largest median
    distance from the median of all ranks. None where there are fewer than two ranks.
    """
    found = {rank: columns for rank, columns in ranks.items() if len(columns[0])}
    if len(found) < 2:
        return None
    numbers = list(found)
    ends = np.array([found[rank][0].max() for rank in numbers], np.float64)
    rank, behind, late = None, 0.0, 0.0
    if (ends == ends.min()).sum() == 1 and ends.min() < ends.max():
        rank, behind = numbers[int(ends.argmin())], float(ends.max() - ends.min())
    values, times = _at_common_steps([found[each] for each in numbers])
    if rank is None and times.shape[1]:
        rank, late = _last_to_come(numbers, times)
    apart, distance = _farthest(numbers, values)
    return Straggler(run_id, metric, rank, behind, late, apart, distance)


def _at_common_steps(columns: list[tuple[Any, Any, Any]]) -> tuple[Any, Any]:
    """(values, times in seconds) of the steps that all ranks have, a row a rank."""
    latest = [np.append(steps[1:] != steps[:-1], True) for steps, _, _ in columns]
    rows = [(s[k], v[k], t[k]) for (s, v, t), k in zip(columns, latest, strict=True)]
    common = rows[0][0]
    for steps, _, _ in rows[1:]:
        common = np.intersect1d(common, steps, assume_unique=True)
    common = common[-_STEPS:]
    places = [np.searchsorted(steps, common) for steps, _, _ in rows]
    values = np.stack([row[1][at] for row, at in zip(rows, places, strict=True)])
    times = np.stack([row[2][at] for row, at in zip(rows, places, strict=True)])
    return values, times / 1e6


def _last_to_come(numbers: list[int], times: Any) -> tuple[int | None, float]:
    late = times - np.median(times, axis=0)
    alone = (late == late.max(axis=0)).sum(axis=0) == 1
    counts = np.bincount(late.argmax(axis=0)[alone], minlength=len(numbers))
    place = int(counts.argmax())
    if 2 * counts[place] <= times.shape[1]:
        return None, 0.0
    return numbers[place], float(np.median(late[place]))


def _farthest(numbers: list[int], values: Any) -> tuple[int | None, float]:
    values = values[:, np.isfinite(values).all(axis=0)]
    if not values.shape[1]:
        return None, 0.0
    distance = np.median(np.abs(values - np.median(values, axis=0)), axis=1)
    place = int(distance.argmax())
    alone = (distance == distance[place]).sum() == 1
    return (numbers[place], float(distance[place])) if alone else (None, 0.0)
