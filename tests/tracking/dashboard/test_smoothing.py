"""Smoothing against pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.tracking.dashboard.charts.smoothing import smoothed
from seamount.tracking.dashboard.spec import Smoothing

SIZES = (1, 2, 3, 17, 1000)


def line(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    times = 1_700_000_000_000_000 + np.cumsum(rng.integers(0, 3_000_000, count))
    return rng.standard_normal(count).cumsum(), times


def close(found, expected, y):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.abs(y).max())


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("weight", [0.0, 0.01, 0.5, 0.9, 0.9999])
def test_bias_corrected_ema(count, weight):
    y, times = line(count)
    expected = pd.Series(y).ewm(alpha=1 - weight, adjust=True).mean()
    close(smoothed(y, times, Smoothing(kind="ema", weight=weight)), expected, y)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("half_life", [0.001, 1.0, 100.0, 1e6])
def test_time_weighted_ema(count, half_life):
    y, times = line(count)
    series = pd.Series(y)
    how = pd.Timedelta(half_life, "s")
    expected = series.ewm(halflife=how, times=pd.to_datetime(times, unit="us")).mean()
    close(smoothed(y, times, Smoothing(kind="time_ema", half_life=half_life)), expected, y)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("window", [1, 2, 5, 64, 65, 100, 5000])
def test_windows(count, window):
    y, times = line(count)
    rolling = pd.Series(y).rolling(window, center=True, min_periods=1)
    close(smoothed(y, times, Smoothing(kind="mean", window=window)), rolling.mean(), y)
    close(smoothed(y, times, Smoothing(kind="median", window=window)), rolling.median(), y)


def test_a_spike_leaves_no_trace_outside_its_window():
    y = np.ones(1000)
    y[500] = 1e300
    found = smoothed(y, np.arange(1000), Smoothing(kind="mean", window=11))
    assert (np.delete(found, range(495, 506)) == 1).all()


def test_a_clock_set_back_counts_as_no_time():
    y, times = np.array([1.0, 3.0]), np.array([10_000_000, 0])
    assert smoothed(y, times, Smoothing(kind="time_ema", half_life=1))[1] == 2.0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e308, 1e308), min_size=1, max_size=60),
    st.sampled_from(["ema", "time_ema", "mean", "median"]),
    st.floats(0, 0.999999),
    st.integers(1, 80),
)
def test_any_value_stays_between_lowest_and_highest(values, kind, weight, window):
    y = np.array(values)
    how = Smoothing(kind=kind, weight=weight, window=window)
    found = smoothed(y, np.arange(len(y)) * 1_000_000, how)
    slack = 1e-12 * np.abs(y).max()
    assert (found >= y.min() - slack).all()
    assert (found <= y.max() + slack).all()
