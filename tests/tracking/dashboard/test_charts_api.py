"""Charts over HTTP: the same numbers as chart_data, names of metrics, bounds."""

from __future__ import annotations

import json

import pytest

from seamount.tracking.dashboard.chart_data import chart_data
from seamount.tracking.dashboard.spec import ChartSpec, read_spec


def test_a_chart_is_what_chart_data_computes(ask, filled):
    spec = {"metrics": "^loss$", "runs": {"ids": ["r4", "r1"]}, "smoothing": {"kind": "ema"}}
    found = ask("chart", spec, width=300)
    expected = chart_data(read_spec(ChartSpec, spec), filled.uri, 300).to_json()
    assert found["lines"] == json.loads(json.dumps(expected["lines"]))
    assert found["digest"] == expected["digest"]
    assert [line["run_id"] for line in found["lines"]] == ["r4", "r1"]


def test_runs_may_be_named_by_a_filter(ask):
    found = ask("chart", {"metrics": "acc", "runs": {"where": "config.seed = 0"}})
    assert {line["run_id"] for line in found["lines"]} == {"r0", "r3"}
    assert found["spec"]["runs"]["where"] == "config.seed = 0"


def test_metrics_that_a_pattern_picks(ask):
    assert ask("metrics", {"metrics": ""})["names"] == ["loss", "val/acc"]
    assert ask("metrics", {"metrics": "^val & !loss"})["names"] == ["val/acc"]
    assert ask("metrics", {"metrics": "loss", "runs": {"ids": []}}) == {"names": [], "runs": []}


@pytest.mark.parametrize(
    "query", ["", "spec={}", 'spec={"metrics":"("}', 'spec={"metrics":"a"}&width=9999999']
)
def test_mistakes_are_told(filled, client_of, query):
    answer = client_of(filled).get(f"/api/v1/chart?{query}")
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]
