"""The runs table over HTTP, beside what seamount.tracking.query says."""

from __future__ import annotations

import json

import pytest

from seamount.tracking import Run, query


def ids(table):
    return [row["id"] for row in table["rows"]]


@pytest.mark.parametrize(
    ("where", "sort"),
    [
        ("config.lr < 0.05", "min(loss)"),
        ("config.opt/name = 'adam' or min(val/acc) > 0.3", "-config.lr"),
        ("not (state = 'Failed') and last(loss) = nan", "created"),
        (None, "-max(loss)"),
    ],
)
def test_the_table_is_what_a_query_gives(ask, filled, where, sort):
    table = ask("runs", {"where": where, "sort": sort, "columns": ["config.lr", "max(loss)"]})
    expected = query.runs(where, store=filled.uri, sort=sort, columns=["config.lr", "max(loss)"])
    assert ids(table) == [run.run_id for run in expected]
    assert table["total"] == expected.total
    cells = [row["cells"] for row in table["rows"]]
    assert cells == [[r["config.lr"], r["max(loss)"]] for r in expected.rows()]


def test_a_window_of_rows_and_some_fields(ask):
    everything = ids(ask("runs", {"sort": "config.lr"}))
    part = ask("runs", {"sort": "config.lr"}, offset=2, limit=3, fields=["name"])
    assert ids(part) == everything[2:5]
    assert [row["cells"] for row in part["rows"]] == [[f"run-{i[1]}"] for i in everything[2:5]]
    assert part["total"] == 6


def test_columns_are_suggested_and_typed(ask):
    table = ask("runs")
    types = {field["name"]: field["type"] for field in table["fields"]}
    assert types["config.lr"] == "number"
    assert types["config.opt/name"] == "text"
    assert types["created"] == "time"
    assert types["last(loss)"] == "number"
    assert table["columns"] == list(types)


def test_non_finite_numbers_are_texts(ask):
    table = ask("runs", {"where": "run_id = 'r3'", "columns": ["last(loss)", "config.absent"]})
    assert table["rows"][0]["cells"] == ["NaN", None]


def test_groups_hold_their_runs_and_say_what_they_have(ask):
    table = ask(
        "runs",
        {"group_by": ["config.opt/name"], "columns": ["config.lr", "project"], "sort": "name"},
    )
    first, second = table["groups"]
    assert first["values"] == {"config.opt/name": "sgd"}
    assert (first["start"], first["count"], second["start"]) == (0, 3, 3)
    assert ids(table) == ["r0", "r2", "r4", "r1", "r3", "r5"]
    lrs = [0.1, 0.1 / 4, 0.1 / 16]
    assert first["cells"][0] == pytest.approx({"mean": sum(lrs) / 3, "min": min(lrs), "max": 0.1})
    assert first["cells"][1] == {"kinds": 2}


def test_pinned_runs_come_whatever_the_filter(ask):
    table = ask(
        "runs", {"where": "config.lr > 1", "pinned_runs": ["r1", "gone"], "columns": ["name"]}
    )
    assert table["total"] == 0
    assert [row["id"] for row in table["pinned"]] == ["r1"]


def test_rows_that_did_not_change_are_their_ids(ask, filled):
    before = ask("runs", {"columns": ["last(loss)"]})
    with Run(run_id="r2", store=filled.uri) as run:
        run.log_metrics({"loss": 99.0}, step=50)
    filled.refresh()
    after = ask("runs", {"columns": ["last(loss)"]}, since=before["revision"])
    full = [row for row in after["rows"] if not isinstance(row, str)]
    assert [(row["id"], row["cells"]) for row in full] == [("r2", [99.0])]
    assert {row for row in after["rows"] if isinstance(row, str)} == {
        f"r{n}" for n in (0, 1, 3, 4, 5)
    }


def test_what_is_cached_follows_the_store(ask, filled):
    spec = {"where": "config.lr < 0.02 and last(loss) < 50", "columns": ["config.lr"]}
    assert set(ids(ask("runs", spec))) == {"r4", "r5"}
    assert ask("runs", {"search": "newcomer"})["total"] == 0
    with Run(project="apples", name="newcomer", run_id="r9", store=filled.uri) as run:
        run.log_configs({"lr": 0.001})
        run.log_metrics({"loss": 1.0}, step=0)
    with Run(run_id="r4", store=filled.uri) as run:
        run.log_configs({"lr": 5})
    filled.refresh()
    assert set(ids(ask("runs", spec))) == {"r5", "r9"}
    assert ids(ask("runs", {"search": "newcomer"})) == ["r9"]


def test_names_of_what_runs_have(ask):
    found = ask("columns", {"project": "apples"})
    assert found["config"] == ["lr", "opt/name", "seed"]
    assert found["metric"] == ["loss", "val/acc"]


def test_a_filter_that_cannot_be_read_says_where(filled, client_of):
    answer = client_of(filled).get(
        "/api/v1/runs", params={"spec": json.dumps({"where": "loss < 2"})}
    )
    assert answer.status_code == 400
    assert answer.json()["query"] == {"text": "loss < 2", "position": 0}
    assert "config.loss" in answer.json()["error"]


@pytest.mark.parametrize(
    "query_string",
    [
        "spec={",
        "limit=100000",
        "offset=-1",
        "fields=1",
        "spec=2.abc",
        'spec={"what": 1}',
        "since=x",
    ],
)
def test_odd_questions_are_one_sentence(filled, client_of, query_string):
    answer = client_of(filled).get(f"/api/v1/runs?{query_string}")
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


def test_too_many_groups_are_refused(store, client_of, monkeypatch):
    from seamount.tracking.dashboard import table

    monkeypatch.setattr(table, "MAX_GROUPS", 1)
    for n in range(2):
        Run(project="p", name=f"n{n}", store=store.uri).close()
    answer = client_of(store).get("/api/v1/runs", params={"spec": '{"group_by": ["name"]}'})
    assert answer.status_code == 400
    assert "2 groups" in answer.json()["error"]


def test_what_is_read_ahead_is_what_is_read_on_demand(filled):
    from seamount.tracking.dashboard.run_data import RunData
    from seamount.tracking.query.filters import Operand

    lr = Operand("config", "lr")
    data, plain = RunData(filled), RunData(filled)
    with data.now() as runs:  # before: read for the runs in view alone
        few = runs.cells([lr, Operand("min", "loss")], ["r1", "r4"])
    data.warm()
    with Run(run_id="r4", store=filled.uri) as run:
        run.log_configs({"lr": 7})
    filled.refresh()
    with data.now() as runs, plain.now() as others:
        assert runs.values(lr, runs.rows) == others.values(lr, others.rows)
        assert runs.values(lr, ["r4"]) == {"r4": 7}
    assert few[lr] == {"r1": 0.05, "r4": 0.1 / 16}
    assert few[Operand("min", "loss")] == pytest.approx({"r1": 2.1, "r4": 5.1})


def test_what_changed_while_it_was_read_ahead_is_read_anew(filled):
    from seamount.tracking.dashboard.run_data import RunData
    from seamount.tracking.query.filters import Operand

    data = RunData(filled)
    with data.now() as runs:
        early, revision = runs.configs_of(list(runs.rows)), runs.revision
    with Run(run_id="r4", store=filled.uri) as run:
        run.log_configs({"lr": 7})
    filled.refresh()
    with data.now() as runs:
        runs.adopt_configs(early, revision)
        assert runs.values(Operand("config", "lr"), ["r3", "r4"]) == {"r3": 0.1 / 8, "r4": 7}
