"""Axes: where a value stands on a linear, log or symlog one.

Symlog is asinh(v / threshold): linear around 0, logarithmic far from it, smooth between. matplotlib
calls it `asinh` (linear_width), uPlot distribution 4 (asinh), so both draw the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_REACH = 1e6  # decades below the largest value that a symlog axis still tells apart: six


def place(values: Any, scale: str, threshold: float) -> Any:
    """Values -> places along the axis, in its own unit."""
    if scale == "log":
        return np.log10(values)
    return np.arcsinh(values / threshold) if scale == "symlog" else values


def value_at(places: Any, scale: str, threshold: float) -> Any:
    """The inverse of `place`."""
    if scale == "log":
        return 10.0**places
    return np.sinh(places) * threshold if scale == "symlog" else places


def threshold_of(values: Any) -> float:
    """Where a symlog axis turns from linear to logarithmic: the power of ten at or below the tenth
    percentile of what differs from 0, within six decades of the largest."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    if not len(sizes):
        return 1.0
    low = max(float(np.quantile(sizes, 0.1)), float(sizes.max()) / _REACH, 1e-300)
    return float(10.0 ** np.floor(np.log10(low)))
