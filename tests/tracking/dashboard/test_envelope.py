"""Envelopes lose no spike, groups join as said, stragglers are who they should be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from seamount.tracking.dashboard.charts.envelope import bucket_edges, envelope
from seamount.tracking.dashboard.charts.grouping import joined
from seamount.tracking.dashboard.charts.ranks import straggler
from seamount.tracking.dashboard.charts.scales import place, threshold_of

values = st.floats(-1e12, 1e12) | st.just(float("nan"))


@settings(max_examples=150, deadline=None)
@given(
    arrays.arrays(float, st.integers(1, 80), elements=values),
    st.integers(1, 9),
    st.sampled_from(["linear", "log", "symlog"]),
    st.integers(0, 99),
)
def test_each_bucket_keeps_its_ends_extremes_and_a_gap(y, count, scale, seed):
    rng = np.random.default_rng(seed)
    x = np.sort(np.exp(rng.uniform(-5, 10, len(y))))
    low, high = y - rng.random(len(y)), y + rng.random(len(y))
    edges = bucket_edges((x[0], x[-1]), count, scale, 0.1)
    kept = envelope(x, y, edges, low, high)
    assert (np.diff(kept) > 0).all()
    assert len(kept) <= 7 * count
    buckets = pd.Series(np.searchsorted(edges[1:-1], x, side="right"))
    for _, places in buckets.groupby(buckets).groups.items():
        here, mine = np.asarray(places), np.intersect1d(places, kept)
        finite = here[np.isfinite(y[here])]
        if len(finite):
            assert {finite[0], finite[-1]} <= set(mine.tolist())
            assert np.nanmin(y[mine]) == y[finite].min()
            assert np.nanmax(y[mine]) == y[finite].max()
            assert np.nanmin(low[mine]) == low[finite].min()
            assert np.nanmax(high[mine]) == high[finite].max()
        assert np.isnan(y[mine]).any() == np.isnan(y[here]).any()


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_buckets_are_equally_wide_as_drawn(scale):
    edges = bucket_edges((0.01, 1e6), 50, scale, 0.5)
    drawn = {"linear": lambda v: v, "log": np.log, "symlog": lambda v: np.arcsinh(v / 0.5)}
    widths = np.diff(drawn[scale](edges))
    np.testing.assert_allclose(widths, widths[0], rtol=1e-6)
    assert place(np.array([100.0]), "log", 1)[0] == 2


def test_symlog_turns_at_a_power_of_ten_within_the_values():
    assert threshold_of(np.array([0.0, -3, 5, 700, np.nan, np.inf])) == 1.0
    assert threshold_of(np.array([1e-30, 1e-30, 1e3])) == pytest.approx(1e-3)
    assert threshold_of(np.zeros(3)) == 1.0


@pytest.mark.parametrize("band", ["minmax", "std", "none"])
def test_equal_steps_join_as_in_pandas(band):
    rng = np.random.default_rng(1)
    x, table = np.arange(50.0), rng.standard_normal((4, 50))
    table[1, 7] = np.nan
    table[:, 9] = np.nan
    found, frame = joined([(x, row) for row in table], band), pd.DataFrame(table)
    assert found.even
    np.testing.assert_allclose(found.y, frame.mean())
    if band == "minmax":
        np.testing.assert_array_equal(found.low[x != 9], frame.min()[x != 9])
        np.testing.assert_array_equal(found.high[x != 9], frame.max()[x != 9])
    if band == "std":
        np.testing.assert_allclose(found.high - found.y, frame.std(ddof=1))
    assert (found.low is None) == (band == "none")


def test_unequal_steps_join_by_straight_lines_within_their_ends():
    one = (np.array([0.0, 10.0]), np.array([0.0, 10.0]))
    two = (np.array([4.0, 4.0, 6.0]), np.array([99.0, 0.0, 2.0]))
    found = joined([one, two], "minmax")
    assert not found.even
    assert found.x.tolist() == [0, 4, 6, 10]
    assert found.y.tolist() == [0, 2, 4, 10]
    assert found.low.tolist() == [0, 0, 2, 10]
    assert found.high.tolist() == [0, 4, 6, 10]


def test_means_of_huge_values_stay_finite():
    x = np.array([1.0])
    assert joined([(x, np.array([1.5e308]))] * 3, "minmax").y == pytest.approx(1.5e308)


def ranks(**late):
    steps = np.arange(100)
    rng = np.random.default_rng(0)
    return {
        number: (
            steps,
            rng.standard_normal(100) * 1e-3 + (number == 2),
            steps * 1_000_000 + rng.integers(0, 1000, 100) + late.get(f"r{number}", 0),
        )
        for number in range(4)
    }


def test_the_straggler_logs_last_at_most_steps():
    found = straggler("r", "loss", ranks(r3=250_000))
    assert (found.rank, found.behind, found.farthest_rank) == (3, 0, 2)
    assert found.late_s == pytest.approx(0.25, abs=0.001)
    assert found.farthest == pytest.approx(1, abs=0.01)


def test_chance_makes_no_straggler():
    assert straggler("r", "loss", ranks()).rank is None


def test_a_rank_that_stopped_is_the_straggler():
    columns = ranks(r3=250_000)
    columns[1] = tuple(each[:40] for each in columns[1])
    found = straggler("r", "loss", columns)
    assert (found.rank, found.behind) == (1, 60)
    assert straggler("r", "loss", {0: columns[0]}) is None
