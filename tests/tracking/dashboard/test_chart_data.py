"""Charts of a store: what is selected, computed and said, against what was logged."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import numpy as np
import pandas as pd
import pytest
from logged import curve, log

from seamount.tracking.dashboard import chart_data as module
from seamount.tracking.dashboard.chart_data import chart_data
from seamount.tracking.dashboard.charts import strands
from seamount.tracking.dashboard.spec import ChartSpec, read_spec

NAN, INF = float("nan"), float("inf")


def chart(store, width=1000, baseline=None, **spec):
    return chart_data(
        read_spec(ChartSpec, {"metrics": "^loss$"} | spec), store.uri, width, baseline
    )


def test_a_line_is_what_was_logged(store):
    log(store, "a", {"loss": [3, 2, 1], "other": [5]})
    found = chart(store)
    (line,) = found.lines
    assert (line.run_id, line.name, line.metric, line.rank) == ("a", "a", "loss", 0)
    assert (line.x.tolist(), line.y.tolist(), line.points) == ([0, 1, 2], [3, 2, 1], 3)
    assert (found.x, found.y, found.x_extent, found.projects) == ("step", "loss", (0, 2), ["demo"])
    json.dumps(found.to_json(), allow_nan=False)


def test_digest_by_its_definition(store):
    log(store, "a", {"loss": [3, NAN, -0.0]}, lr=0.5)
    log(store, "b", {"loss": [1]})
    found = chart(store, group_by=["config.lr"])

    def strand(run_id, group, x, y):
        head = json.dumps([run_id, "loss", 0, [group]], separators=(",", ":")) + "\n"
        values = b"".join(struct.pack("<d", v) for v in (*x, *y))
        return hashlib.sha256(head.encode() + values).hexdigest()

    parts = sorted([strand("a", "0.5", [0, 1, 2], [3, NAN, -0.0]), strand("b", "—", [0], [1])])
    expected = hashlib.sha256("".join(f"{each}\n" for each in parts).encode()).hexdigest()
    assert found.digest == expected
    assert chart(store, group_by=["config.lr"], smoothing={"kind": "ema"}).digest == expected
    assert chart(store, width=1, group_by=["config.lr"], y_scale="log").digest == expected
    assert chart(store).digest != expected


def test_zoom_changes_no_smoothed_value_and_reaches_the_edges(store):
    values = np.random.default_rng(0).standard_normal(200).tolist()
    log(store, "a", {"loss": values})
    smoothing = {"kind": "ema", "weight": 0.9}
    whole, part = (
        chart(store, smoothing=smoothing),
        chart(store, smoothing=smoothing, x_range=[50, 60.5]),
    )
    assert part.lines[0].x.tolist() == list(range(49, 62))
    assert part.lines[0].y.tolist() == whole.lines[0].y[49:62].tolist()
    assert part.lines[0].raw[1].tolist() == values[49:62]
    assert part.strands[0].points == 11
    expected = pd.Series(values).ewm(alpha=0.1).mean()
    np.testing.assert_allclose(whole.lines[0].y, expected)


def test_a_long_line_is_cut_and_its_spike_stays(store):
    values = [math.sin(place / 100) for place in range(20_000)]
    values[12_345] = 77.0
    log(store, "a", {"loss": values})
    (line,) = chart(store, width=100).lines
    assert line.points == 20_000
    assert len(line.x) <= 200
    assert line.y[line.x.tolist().index(12_345)] == 77.0
    assert len(chart(store, width=0).lines[0].x) <= 4
    zoomed = chart(store, width=100, x_range=[12_300, 12_360]).lines[0]
    assert zoomed.x.tolist() == list(range(12_299, 12_362))


def test_axes(store):
    log(store, "a", {"tokens": [10, 30, 20], "loss": [1, 2, 3, 4]}, steps=[0, 1, 2, 3])
    by_tokens = chart(store, x="metric:tokens")
    assert by_tokens.lines[0].x.tolist() == [10, 20, 30]
    assert by_tokens.lines[0].y.tolist() == [1, 3, 2]
    assert by_tokens.notes == ["left out: 1 point without x value"]
    store.refresh()
    with store.index() as index:
        times = [point.time_us for point in index.history("a", "loss")]
        created = index.run("a")["created_us"]
    assert chart(store, x="time").lines[0].x.tolist() == [t / 1e6 for t in times]
    relative = chart(store, x="relative").lines[0].x
    assert relative.tolist() == [(t - created) / 1e6 for t in times]
    assert chart(store, x="metric:none").lines[0].points == 0
    assert chart(store, x_scale="log").lines[0].x.tolist() == [1, 2, 3]


def test_bad_points_are_gaps_and_marks(store):
    log(store, "a", {"loss": [1, NAN, 3, INF, -INF, 2]})
    log(store, "a", {"loss": [NAN, 1]}, rank=3)
    (line,) = chart(store, smoothing={"kind": "mean", "window": 3}).lines
    assert np.isnan(line.y).tolist() == [False, True, False, True, True, False]
    assert line.y[[0, 2, 5]].tolist() == [2, 2, 2.5]
    assert [(bad.x, bad.value) for bad in line.bad] == [(1, "nan"), (3, "inf"), (4, "-inf")]
    assert (line.first_bad.step, line.first_bad.rank, line.first_bad.value) == (0, 3, "nan")
    assert line.to_json()["y"][1] is None


def test_groups_and_bands(store):
    for run_id, lr, shift in (("a", 0.1, 0), ("b", 0.1, 1), ("c", 0.01, 5)):
        log(store, run_id, {"loss": curve(9, shift)}, lr=lr)
    log(store, "d", {"loss": curve(9, 9)})
    found = chart(store, group_by=["config.lr"], band="std")
    lines = {line.name: line for line in found.lines}
    assert set(lines) == {"config.lr=0.1 (2 runs)", "config.lr=0.01 (1 run)", "config.lr=— (1 run)"}
    mean = lines["config.lr=0.1 (2 runs)"]
    table = pd.DataFrame([curve(9, 0), curve(9, 1)])
    np.testing.assert_allclose(mean.y, table.mean())
    np.testing.assert_allclose(mean.high - mean.low, 2 * table.std())
    assert (mean.run_id, mean.runs, mean.group) == (None, 2, {"config.lr": 0.1})
    assert found.notes == []
    based = chart(store, group_by=["config.lr"], baseline="a")
    assert [line.name for line in based.lines if line.baseline] == ["a"]
    assert "config.lr=0.1 (1 run)" in [line.name for line in based.lines]


def test_ranks(store):
    for rank in range(3):
        log(store, "a", {"loss": curve(10, rank)[: 6 if rank == 1 else 10]}, rank=rank)
    assert [line.rank for line in chart(store).lines] == [0]
    strands_ = chart(store, ranks="strands")
    assert [(line.name, line.straggler) for line in strands_.lines] == [
        ("a · rank 0", False), ("a · rank 1", True), ("a · rank 2", False)
    ]  # fmt: skip
    assert (strands_.stragglers[0].rank, strands_.stragglers[0].behind) == (1, 4)
    (mean,) = chart(store, ranks="mean", band="minmax").lines
    assert mean.name == "a · mean of 3 ranks"
    np.testing.assert_allclose(mean.y[:6], np.array(curve(10, 1))[:6])
    np.testing.assert_allclose(mean.y[6:], np.array(curve(10, 1))[6:])
    np.testing.assert_allclose(mean.high - mean.low, 2)


def test_selection(store):
    for run_id in ("a", "b", "c"):
        log(store, run_id, {"loss": [1], "acc": [2]}, name="twin" if run_id != "c" else "c")
    assert [line.name for line in chart(store).lines] == ["c", "twin (b)", "twin (a)"]
    ids = chart(store, runs={"ids": ["a", "c", "gone"]})
    assert [line.run_id for line in ids.lines] == ["a", "c"]
    both = chart(store, metrics="loss | acc", split=False, runs={"ids": ["a"]})
    assert [line.name for line in both.lines] == ["twin · acc", "twin · loss"]
    assert list(both.by_metric()) == [""]
    with_base = chart(store, runs={"where": "name = 'c'"}, baseline="b")
    assert [(line.run_id, line.baseline) for line in with_base.lines] == [("c", False), ("b", True)]
    nothing = chart(store, metrics="none")
    assert (nothing.lines, nothing.notes) == ([], ["no run here has such a metric"])


def test_bounds_are_told(store, monkeypatch):
    for run_id in "abcd":
        log(store, run_id, {"loss": [1, 2], "acc": [1, 2]})
    monkeypatch.setattr(strands, "MAX_RUNS", 3)
    monkeypatch.setattr(strands, "MAX_STRANDS", 5)
    monkeypatch.setattr(module, "MAX_LINES", 4)
    found = chart(store, metrics="")
    assert [line.metric for line in found.lines] == ["acc"] * 3 + ["loss"]
    assert found.notes[0] == "the first 3 of 4 runs are shown"
    assert found.notes[1].startswith("the first 5 of 6 series are shown")
    assert found.notes[2] == "the first 4 of 5 lines are drawn"


@pytest.mark.parametrize("scale", ["log", "symlog"])
def test_values_that_a_log_axis_lacks_are_told(store, scale):
    log(store, "a", {"loss": [1, 0, -1]})
    notes = chart(store, y_scale=scale).notes
    assert notes == (["2 values at or below 0 cannot be drawn on log y"] if scale == "log" else [])
