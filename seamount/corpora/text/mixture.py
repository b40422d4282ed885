"""Target weights met in bytes: how much of each component, and how often each document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numba
import numpy as np

Mode = Literal["strict", "fill", "natural"]


@dataclass(frozen=True)
class Supply:
    """What there is of one component: bytes, how often a document may be seen, its weight."""

    bytes: int
    epochs: float = 1.0
    weight: float | None = None

    @property
    def limit(self) -> float:
        """Most bytes this component can give."""
        return self.bytes * self.epochs


def targets(supply: dict[str, Supply], mode: Mode, total_bytes: int | None) -> dict[str, float]:
    """Bytes wanted of each component; one without a weight gets none unless the mode is natural.

    `strict` keeps the weights exactly, so the scarcest component bounds the whole; `fill` gives the
    room of a scarce component to the others; `natural` keeps the proportions there are.
    """
    if mode == "natural":
        there = sum(s.bytes for s in supply.values())
        share = 1.0 if total_bytes is None else min(1.0, total_bytes / max(1, there))
        return {name: s.bytes * share for name, s in supply.items()}
    weights = _weights(supply)
    if mode == "strict":
        total = min((supply[n].limit / w for n, w in weights.items()), default=0.0)
        total = total if total_bytes is None else min(total, total_bytes)
        return {name: total * weights.get(name, 0.0) for name in supply}
    return _filled({n: supply[n].limit for n in weights}, weights, total_bytes, supply)


def _weights(supply: dict[str, Supply]) -> dict[str, float]:
    """Weights of the components that are there, renormalised to sum to 1."""
    given = {n: s.weight for n, s in supply.items() if s.weight is not None and s.bytes > 0}
    total = sum(given.values())
    return {name: weight / total for name, weight in given.items()}


def _filled(
    limits: dict[str, float], weights: dict[str, float], total: int | None, supply: dict[str, Any]
) -> dict[str, float]:
    rest = sum(limits.values()) if total is None else min(float(total), sum(limits.values()))
    wanted: dict[str, float] = {}
    free = dict(weights)
    while free:
        scale = rest / sum(free.values())
        scarce = {n for n, w in free.items() if limits[n] <= w * scale}
        if not scarce:
            wanted |= {n: w * scale for n, w in free.items()}
            break
        wanted |= {n: limits[n] for n in scarce}
        rest -= sum(limits[n] for n in scarce)
        free = {n: w for n, w in free.items() if n not in scarce}
    return {name: wanted.get(name, 0.0) for name in supply}


def copies(sizes: Sequence[int] | np.ndarray, target: float) -> np.ndarray:
    """How often each document (sizes in bytes, in hash order) is taken to reach `target` bytes.

    Every document as often as all fit whole, then each that still fits once more: the sum stays
    below the target by less than the smallest document left out.
    """
    sizes = np.asarray(sizes, np.int64)
    there = int(sizes.sum())
    if there == 0:
        return np.full(len(sizes), target >= 0, np.int32)
    # A share of one must not lose a document to rounding.
    whole = math.floor(target / there + 1e-9)
    return whole + _fitting(sizes, target - whole * there)


@numba.njit(cache=True)
def _fitting(sizes, rest):  # type: ignore[no-untyped-def]
    """1 for each size that still fits into what the ones before it left of `rest`, else 0."""
    taken = np.zeros(sizes.size, np.int32)
    for at in range(sizes.size):
        if sizes[at] <= rest:
            rest -= sizes[at]
            taken[at] = 1
    return taken


def certificate(
    supply: dict[str, Supply],
    wanted: dict[str, float],
    achieved: dict[str, int],
    stated: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Achieved against wanted, in bytes and shares; `scarce` marks what had no more to give.

    `stated_weight` is a component's share of the whole catalog (`stated`), `weight` its share of
    the components that are there.
    """
    total, aim = sum(achieved.values()), sum(wanted.values())
    weights = _weights(supply)
    return {
        name: {
            "available_bytes": supply[name].bytes,
            "stated_weight": (stated or {}).get(name),
            "weight": weights.get(name),
            "wanted_bytes": round(wanted[name]),
            "achieved_bytes": achieved.get(name, 0),
            "wanted_share": wanted[name] / aim if aim else 0.0,
            "achieved_share": achieved.get(name, 0) / total if total else 0.0,
            "scarce": bool(aim)
            and wanted[name] >= supply[name].limit * (1 - 1e-9)
            and weights.get(name, 0.0) >= wanted[name] / aim - 1e-9,
        }
        for name in sorted(supply)
    }
