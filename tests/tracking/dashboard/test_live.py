"""What travels while runs are written: new points only, once each, across reconnections."""

from __future__ import annotations

import json

import pytest

from seamount.tracking import Run
from seamount.tracking.dashboard.access import OWNER, Access, Visitor
from seamount.tracking.dashboard.api.live import Cursor, LiveApi
from seamount.tracking.dashboard.run_data import RunData
from seamount.tracking.dashboard.spec import ChartSpec, read_spec
from seamount.tracking.query.patterns import compile_pattern


class Listener:
    """One page's stream, asked by hand instead of by a clock; `again` is another connection."""

    def __init__(self, store, spec, visitor=OWNER, cursor=""):
        self.store, self.spec, self.visitor = store, read_spec(ChartSpec, spec), visitor
        self.api = LiveApi(RunData(store), Access(store))
        self.cursor = Cursor.read(cursor)

    def look(self):
        self.store.refresh()
        pattern = compile_pattern(self.spec.metrics)
        return self.api._look(self.visitor, self.spec, pattern, self.cursor)

    def again(self):
        return Listener(
            self.store, self.spec.model_dump(mode="json"), self.visitor, str(self.cursor)
        )


def points(event):
    return {
        (each["run_id"], each["metric"], each["rank"]): list(
            zip(each["steps"], each["values"], strict=True)
        )
        for each in event["points"]
    }


def test_only_new_points_travel_and_each_once(store):
    with Run(project="p", run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": 1.0, "other": 7.0}, step=0)
        page = Listener(store, {"metrics": "loss"})
        assert page.look()[0] == "hello"
        assert page.look() == ("", None)
        run.log_metrics({"loss": 2.0, "other": 8.0}, step=1)
        run.log_metrics({"loss": float("nan")}, step=2)
        kind, event = page.look()
        assert kind == "change"
        assert points(event) == {("a", "loss", 0): [(1.0, 2.0), (2.0, "nan")]}
        page = page.again()  # another server could go on here: the cursor holds all
        run.log_metrics({"loss": 4.0}, step=3)
        assert points(page.look()[1]) == {("a", "loss", 0): [(3.0, 4.0)]}
    kind, event = page.look()
    assert event["runs"] == {"a": "Completed"}
    assert event["points"] == []
    assert page.again().look() == ("", None)


def test_a_new_run_that_matches_is_told_with_its_points(store):
    page = Listener(store, {"metrics": "loss", "runs": {"where": "config.lr = 1"}})
    page.look()
    for lr in (1, 2):
        with Run(project="p", run_id=f"lr{lr}", store=store.uri) as run:
            run.log_configs({"lr": lr})
            run.log_metrics({"loss": 0.5}, step=0)
    event = page.look()[1]
    assert set(event["runs"]) == {"lr1", "lr2"}
    assert points(event) == {("lr1", "loss", 0): [(0.0, 0.5)]}


def test_a_bounded_visitor_hears_of_its_own_project_only(store):
    mine = Visitor(False, project="mine", token_id="t")
    page = Listener(store, {"metrics": "loss"}, mine)
    page.look()
    for project in ("mine", "theirs"):
        with Run(project=project, run_id=project, store=store.uri) as run:
            run.log_metrics({"loss": 0.5}, step=0)
    event = page.look()[1]
    assert set(event["runs"]) == {"mine"}
    assert {each["run_id"] for each in event["points"]} == {"mine"}
    with Run(run_id="theirs", store=store.uri) as run:
        run.log_metrics({"loss": 0.7}, step=1)
    assert page.look()[1] is None


def test_a_restarted_rank_is_asked_for_anew(store, spawn):
    program = (
        "import sys, os; from seamount.tracking import Run\n"
        "run = Run(project='p', run_id='a', store=sys.argv[1])\n"
        "run.log_metrics({'loss': 1.0}, step=5); os._exit(9)"
    )
    spawn(program, store.uri, SEAMOUNT_TRACKING_WATCHER="off").wait()
    page = Listener(store, {"metrics": "loss"})
    page.look()
    with Run(run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": 3.0}, step=2)
    assert page.look()[1]["again"] == ["a"]


def test_an_index_made_anew_is_told(store):
    with Run(project="p", run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    page = Listener(store, {"metrics": "loss"})
    page.look()
    (store.folder / "index.db").unlink()
    assert page.again().look()[0] == "reset"


@pytest.mark.parametrize("text", ["x", "eJw=", "a" * 70_000, "!!!!"])
def test_a_foreign_cursor_is_refused(filled, client_of, text):
    answer = client_of(filled).get("/api/v1/live", headers={"Last-Event-ID": text})
    assert answer.status_code == 400
    assert "cursor" in answer.json()["error"]


def test_many_points_are_cut_to_an_envelope(store):
    from seamount.tracking.dashboard.new_points import MAX_POINTS

    with Run(project="p", run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": 0.0}, step=0)
        page = Listener(store, {"metrics": "loss"})
        page.look()
        for step in range(1, 5001):
            run.log_metrics({"loss": 50.0 if step == 777 else 0.0}, step=step)
        (series,) = page.look()[1]["points"]
    assert series["points"] == 5000
    assert len(series["values"]) <= MAX_POINTS
    assert (777.0, 50.0) in zip(series["steps"], series["values"], strict=True)
    assert json.dumps(series)
