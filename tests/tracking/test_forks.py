"""Forking a run: what is refused, what is inherited, how it is shown, and stores from before."""

from __future__ import annotations

import json
import multiprocessing
import os
import sqlite3
import time

import pytest
from typer.testing import CliRunner

from seamount.cli.track import app
from seamount.core.errors import CorruptData, UserError
from seamount.tracking import Run, query
from seamount.tracking.configs import digest
from seamount.tracking.store import series
from seamount.tracking.store.schema import SCHEMA_VERSION


@pytest.fixture
def parent(store):
    """Run `p` with configs, points 0 to 9 of loss, and texts."""
    with Run(store=store.uri, run_id="p", project="demo", capture=False) as run:
        run.log_configs({"lr": 0.1, "dim": 64})
        for step in range(10):
            run.log_metrics({"loss": 10.0 - step}, step=step)
            run.log_string_series({"note": f"p{step}", "runtime/stdout": "x"}, step=step)
            run.log_histograms({"w": [float(step), 1.0]}, step=step)
    return store


def fork(store, run_id="f", step=4, **how) -> Run:
    return Run(store=store.uri, run_id=run_id, fork_run_id="p", fork_step=step, capture=False,
               **how)  # fmt: skip


@pytest.mark.parametrize(("how", "said"), [
    ({"fork_run_id": "p"}, "fork_run_id is given without fork_step"),
    ({"fork_step": 3}, "fork_step is given without fork_run_id"),
    ({"fork_run_id": "nobody", "fork_step": 3}, "fork_run_id 'nobody' is no run of"),
    ({"fork_run_id": "n", "fork_step": 3}, "'n' cannot be forked from itself"),
    ({"fork_run_id": "p", "fork_step": float("nan")}, "step nan must be finite"),
    ({"fork_run_id": "p", "fork_step": "soon"}, "step 'soon' is not a number"),
    ({"fork_run_id": "p", "fork_step": True}, "fork_step True is not a number"),
    ({"fork_run_id": "p", "fork_step": 2**70}, "does not fit 64 bits"),
    ({"fork_run_id": "../p", "fork_step": 1}, "must begin with a letter or digit"),
])  # fmt: skip
def test_half_a_fork_or_a_wrong_one_is_refused_and_leaves_no_run(parent, how, said):
    with pytest.raises(UserError, match=said):
        Run(store=parent.uri, run_id="n", capture=False, **how)
    assert parent.run_ids() == ["p"]


def test_a_fork_is_made_once_and_resumed_as_it_is(parent):
    fork(parent).close()
    before = (parent.run_folder("f") / "run.json").read_bytes()
    with fork(parent, step=4.0):  # the same, said again
        pass
    with Run(store=parent.uri, run_id="f", capture=False):
        pass
    with pytest.raises(UserError, match="'f' exists and was forked from 'p' at step 4, not"):
        fork(parent, step=5)
    Run(store=parent.uri, run_id="plain", capture=False).close()
    with pytest.raises(UserError, match="'plain' exists and is no fork"):
        fork(parent, "plain")
    assert (parent.run_folder("f") / "run.json").read_bytes() == before


def test_a_circle_is_refused_and_one_made_by_hand_is_told(parent):
    fork(parent).close()
    parent.run_folder("p").rename(parent.folder / "p")
    with pytest.raises(UserError, match="'p' cannot be forked from 'f', which comes from it"):
        Run(store=parent.uri, run_id="p", fork_run_id="f", fork_step=1, capture=False)
    (parent.folder / "p").rename(parent.run_folder("p"))
    path = parent.run_folder("p") / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {
        "fork_run_id": "f", "fork_step": 1}))  # fmt: skip
    (parent.folder / "index.db").unlink(missing_ok=True)
    with pytest.raises(UserError, match="comes from it: one of the two"):
        query.points(parent.folder, "f", "loss")
    path.write_text(path.read_text().replace('"fork_step": 1', '"fork_step": "x"'))
    with pytest.raises(CorruptData, match="fork_step 'x' is not a finite number"):
        parent.identity("p")


def race(uri: str, barrier) -> None:
    barrier.wait()
    Run(
        store=uri, run_id="f", fork_run_id="p", fork_step=4, rank=os.getpid(), capture=False
    ).close()


def test_racing_ranks_make_one_fork(parent):
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)
    racers = [context.Process(target=race, args=(parent.uri, barrier)) for _ in range(4)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
        assert racer.exitcode == 0
    found = query.open_run("f", parent.folder)
    assert found.configs == {"lr": 0.1, "dim": 64} and len(found.snapshots) == 1


def test_configs_are_inherited_as_of_the_fork_and_own_values_win(parent):
    with fork(parent) as run:
        run.log_configs({"lr": 0.5})
    with Run(store=parent.uri, run_id="p", capture=False) as run:
        run.log_configs({"dim": 128})  # later than the fork: not its
    with fork(parent, "bare", inherit_configs=False) as run:
        run.log_configs({"lr": 0.7})
    found = query.open_run("f", parent.folder)
    first, second = found.snapshots
    assert first["values"] == {"lr": 0.1, "dim": 64} and first["inherited_from"] == "p"
    assert first["digest"] == digest({"dim": 64, "lr": 0.1})
    assert second["values"] == {"lr": 0.5, "dim": 64} and "inherited_from" not in second
    assert second["digest"] == digest({"dim": 64, "lr": 0.5})
    assert query.run(parent.folder, "f")["snapshots"][0]["inherited_from"] == "p"
    assert query.open_run("bare", parent.folder).configs == {"lr": 0.7}
    (row,) = query.runs("config.lr = 0.5 and config.dim = 64", store=parent.folder)
    assert row.run_id == "f"
    with Run(store=parent.uri, run_id="g", fork_run_id="f", fork_step=5, capture=False):
        pass
    assert query.open_run("g", parent.folder).configs == {"lr": 0.5, "dim": 64}


def test_a_clock_that_is_behind_does_not_let_the_parents_values_win(parent, monkeypatch):
    run = fork(parent)
    past = time.time_ns() - 10**15
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: past)
        run.log_configs({"lr": 0.5})
    run.close()
    assert query.open_run("f", parent.folder).configs == {"lr": 0.5, "dim": 64}


def test_a_fork_goes_to_its_parents_project_unless_told(parent):
    with fork(parent) as run:
        assert run.project == "demo"
    with fork(parent, "other", project="mine") as run:
        assert run.project == "mine"


def test_texts_and_histograms_join_and_what_counts_seconds_does_not(parent):
    with fork(parent, step=1) as run:
        run.log_string_series({"note": "f2", "runtime/stdout": "y"}, step=2)
    parent.refresh()
    with parent.index() as index:
        assert series.strings(index, "f", "note") == [(0, "p0"), (1, "p1"), (2, "f2")]
        assert series.strings(index, "f", "note", lineage=False) == [(2, "f2")]
        assert series.strings(index, "f", "runtime/stdout") == [(2, "y")]
        assert [step for step, _ in series.histograms(index, "f", "w")] == [0, 1]
    rows = query.series(".*", "run_id = 'f'", store=parent.folder).rows()
    assert [(r["series"], r["value"]) for r in rows] == [
        ("note", "p0"), ("note", "p1"), ("note", "f2"), ("runtime/stdout", "y"),
    ]  # fmt: skip
    assert len(query.series(".*", "run_id = 'f'", store=parent.folder, lineage=False)) == 2


def test_filters_sorts_and_tables_know_forks(parent):
    with fork(parent) as run:
        run.log_metrics({"loss": 1.0, "new": 0.0}, step=5)
    (row,) = query.runs("fork_run_id = 'p' and fork_step >= 4", store=parent.folder, columns=[
        "fork_step", "last(*)", "min(loss)", "max(loss)", "count(loss)", "mean(loss)",
        "at(loss, 0)"])  # fmt: skip
    assert list(row.known.values()) == [4, 1.0, 0.0, 1.0, 10.0, 6, 41 / 6, 10.0]
    (row,) = query.runs("not fork_run_id exists", store=parent.folder)
    assert row.run_id == "p"
    (row,) = query.runs(
        query.attribute("fork_step") < 5, store=parent.folder, search="?metric:loss"
    )
    assert row.run_id == "f"
    assert query.best("loss", "min", "run_id = 'f'", store=parent.folder).value == 1.0
    assert query.best("loss", "max", "run_id = 'f'", store=parent.folder).step == 0
    own = query.metrics("loss", "run_id = 'f'", store=parent.folder, lineage=False)
    every = query.buckets("loss", "run_id = 'f'", store=parent.folder, limit=3)
    assert (own.columns["step"], every.columns["step"]) == ([5], [0, 4, 5])
    rows = query.sql("select run_id, ancestor_id, generation, up_to from lineage", parent.folder)
    assert rows.to_pylist() == [{"run_id": "f", "ancestor_id": "p", "generation": 1, "up_to": 4.0}]
    rows = query.sql("select fork_run_id, fork_step from runs where run_id = 'f'", parent.folder)
    assert rows.to_pylist() == [{"fork_run_id": "p", "fork_step": 4.0}]


def test_the_command_line_shows_where_a_run_comes_from(parent):
    with fork(parent) as run:
        run.log_metrics({"loss": 1.0}, step=5)
        run.log_metrics({"loss": 0.5}, step=6, preview=True, preview_completion=0.25)
    with Run(store=parent.uri, run_id="g", fork_run_id="f", fork_step=2, capture=False):
        pass

    def track(*words: str) -> str:
        result = CliRunner().invoke(app, [*words, "--store", parent.uri])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "(fork of p at 4)" in track("ls", "--where", "fork_run_id = 'p'")
    assert "fork     of p at step 4" in track("get", "f")
    assert len(track("get", "f", "--metric", "loss").splitlines()) == 6
    assert track("get", "f", "--metric", "loss", "--own") == "5\t1.0\n"
    shown = track("get", "f", "--metric", "loss", "--previews").splitlines()[-1]
    assert shown == "6\t0.5\tpreview 0.25"
    assert track("get", "f", "--lineage").splitlines() == [
        "p  up to step 4", "f  <- this run", "  g  fork of f at step 2",
    ]  # fmt: skip
    found = json.loads(track("get", "p", "--lineage", "--json"))
    assert [(d["run_id"], d["generation"]) for d in found["descendants"]] == [("f", 1), ("g", 2)]
    row = json.loads(track("ls", "--json", "--where", "fork_run_id = 'f'"))[0]
    assert (row["fork_run_id"], row["fork_step"]) == ("f", 2)


def test_an_index_of_the_schema_before_is_made_again(parent):
    """A store of an older seamount: its index knows no forks, its parts no previews."""
    parent.refresh()
    db = sqlite3.connect(parent.folder / "index.db")
    db.execute("DROP INDEX forks")
    db.execute("ALTER TABLE runs DROP COLUMN fork_run_id")
    db.execute("ALTER TABLE series DROP COLUMN previews")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION - 1}")
    db.commit()
    db.close()
    with fork(parent) as run:
        run.log_metrics({"loss": 1.0}, step=5)
    assert [p["step"] for p in query.points(parent.folder, "f", "loss")] == [0, 1, 2, 3, 4, 5]
    db = sqlite3.connect(parent.folder / "index.db")
    assert db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    db.close()


def test_run_json_of_a_run_that_is_no_fork_is_what_it_was(parent):
    """A seamount that knows no forks reads it."""
    found = json.loads((parent.run_folder("p") / "run.json").read_text())
    assert sorted(found) == ["created_us", "name", "owner", "project", "run_id"]
