"""SQL over a store: right beside pandas and a reader of another hand, and unable to do harm."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from segment_reader import points, shown

from seamount.cli.json_output import emit
from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.points import compaction


@pytest.fixture
def runs(store):
    """Three runs: with a restart, with ranks and odd values, and one that is deleted."""
    with Run(store=store.uri, run_id="one", project="p", tags={"kind": "base"}) as run:
        run.log_configs({"lr": 0.1, "model": {"dim": 64}, "amp": True})
        for step in range(40):
            run.log_metrics({"loss": 10.0 - step * 0.1, "acc": step / 40}, step=step)
    with Run(store=store.uri, run_id="one") as run:
        run.log_configs({"lr": 0.2})
        for step in range(30, 35):
            run.log_metrics({"loss": 100.0 + step}, step=step)
        run.log_metrics({"loss": 7.0}, step=33.5)
    for rank in (0, 1):
        with Run(store=store.uri, run_id="two", project="q", rank=rank) as run:
            for step, value in enumerate([1.0, math.nan, math.inf, -math.inf, 3.0 + rank]):
                run.log_metrics({"loss": value}, step=step)
    with Run(store=store.uri, run_id="gone", project="p") as run:
        run.log_metrics({"loss": 1.0}, step=0)
        run._event({"kind": "deleted", "deleted": True})
    return store


@pytest.fixture(params=["tails", "parts", "both"])
def ask(runs, request, monkeypatch):
    """query.sql with the points in tails, in parts, or in both."""
    if request.param != "tails":
        runs.refresh()
        with runs.index() as index:
            for run_id in ("one", "two", "gone"):
                compaction.compact_run(index, run_id)
    if request.param == "both":
        with Run(store=runs.uri, run_id="two", rank=3) as run:
            run.log_metrics({"loss": 9.0}, step=0)
    return lambda text: query.sql(text, runs.uri)


def brute(store, source) -> list[str]:
    """Rows of `source` in text form, NaN equal to NaN."""
    return sorted(
        repr((run_id, key[0], key[1], float(step), value))
        for run_id in ("one", "two")
        for key, found in source(store.run_folder(run_id)).items()
        for step, value, _ in found
    )


@pytest.mark.parametrize(("table", "source"), [("metrics", shown), ("points", points)])
def test_metrics_and_points_equal_a_brute_force_reading(ask, runs, table, source):
    rows = ask(f"select run_id, name, rank, step, value from {table}").to_pylist()
    assert sorted(repr(tuple(row.values())) for row in rows) == brute(runs, source)


def test_aggregates_equal_pandas(ask, runs):
    import pandas

    rows = [
        (run_id, name, rank, step, value, time_us)
        for run_id in ("one", "two")
        for (name, rank), found in shown(runs.run_folder(run_id)).items()
        for step, value, time_us in found
        if math.isfinite(value)
    ]
    frame = pandas.DataFrame(rows, columns=["run_id", "name", "rank", "step", "value", "time"])
    right = frame.groupby(["run_id", "name"]).value.agg(["min", "mean", "count"]).reset_index()
    found = ask(
        'select run_id, name, min(value) "min", avg(value) "mean", count(*) "count" from metrics'
        " where isfinite(value) group by all order by all"
    ).to_pandas()
    pandas.testing.assert_frame_equal(found, right, check_dtype=False)


def test_filters_see_nan_and_infinities_as_duckdb_does_wherever_they_stand(ask):
    at = "from metrics where run_id = 'two' and rank = 0 and"
    assert ask(f"select count(*) n {at} isnan(value)").to_pylist() == [{"n": 1}]
    assert ask(f"select step {at} value = 'infinity'").to_pylist() == [{"step": 2.0}]
    assert ask(f"select count(*) n {at} value > 2").to_pylist() == [{"n": 3}]  # 3, inf and NaN


def test_configs_tags_runs_and_series(ask):
    assert ask("select name, value, number from configs order by name").to_pylist() == [
        {"name": "amp", "value": "true", "number": None},
        {"name": "lr", "value": "0.2", "number": 0.2},
        {"name": "model/dim", "value": "64", "number": 64.0},
    ]
    assert ask("select * from tags").to_pylist() == [
        {"run_id": "one", "name": "kind", "value": "base"}
    ]
    found = ask("select run_id, project, state, ended >= created ok from runs order by 1")
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("one", "p", "Completed", True),
        ("two", "q", "Completed", True),
    ]
    joined = ask(
        "select r.project, s.last_value, s.bad from series s join runs r using (run_id)"
        " where s.run_id = 'two' and s.name = 'loss' and s.rank < 2 order by s.rank"
    )
    assert [tuple(row.values()) for row in joined.to_pylist()] == [("q", 3.0, 3), ("q", 4.0, 3)]


def test_names_and_columns_can_be_asked_for(ask):
    assert {"metrics", "runs"} <= set(ask("show tables").column("name").to_pylist())
    columns = ask("describe metrics").column("column_name").to_pylist()
    assert columns == [
        "run_id", "name", "rank", "attempt", "step", "whole_step", "time", "value", "logged_by",
    ]  # fmt: skip


def test_a_large_whole_step_is_exact(store):
    with Run(store=store.uri, run_id="r") as run:
        run.log_metrics({"x": 1.0}, step=2**53 + 1)
    assert query.sql("select whole_step from metrics", store.uri).to_pylist() == [
        {"whole_step": 2**53 + 1}
    ]


def test_an_empty_store_answers(store):
    assert query.sql("select count(*) n from metrics, configs, tags", store.uri).to_pylist() == [
        {"n": 0}
    ]


def test_a_part_that_is_merged_away_or_lost_is_no_matter(runs, monkeypatch):
    runs.refresh()
    with runs.index() as index:
        compaction.compact_run(index, "one")
    for part in (runs.folder / "points" / "one").glob("*.parquet"):
        part.unlink()
    found = query.sql("select count(*) n from points where run_id = 'one'", runs.uri)
    assert found.to_pylist() == [{"n": 86}]


HOSTILE = [
    "select * from read_csv('{file}')",
    "select * from read_text('{file}')",
    "select * from '{file}'",
    "select * from glob('/etc/*')",
    "select * from parquet_scan('{part}')",
    "select * from sniff_csv('{file}')",
    "select * from query('select * from read_text(''{file}'')')",
    "select getenv('HOME')",
    "with x as (select * from read_blob('{file}')) select * from x",
    "copy (select 1) to '{target}'",
    "copy metrics to '{target}'",
    "attach '{target}'",
    "export database '{target}'",
    "install httpfs",
    "load httpfs",
    "set enable_external_access = true",
    "pragma enable_profiling",
    "create table x (a int)",
    "drop view metrics",
    "insert into runs values (1)",
    "select 1; copy (select 1) to '{target}'",
    "select * from listed",
    "select * from os",
    "select * from sqlite_scan('{index}', 'runs')",
    "",
    "not sql",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_sql_is_refused_and_leaves_no_trace(runs, tmp_path, text):
    secret, target = tmp_path / "secret.csv", tmp_path / "target"
    secret.write_text("a,b\n1,hidden word\n")
    runs.refresh()
    with runs.index() as index:
        compaction.compact_run(index, "one")
    (part,) = (runs.folder / "points" / "one").glob("*.parquet")
    before = {path: path.stat().st_mtime_ns for path in runs.folder.rglob("*")}
    filled = text.format(file=secret, target=target, part=part, index=runs.folder / "index.db")
    with pytest.raises(UserError) as refusal:
        query.sql(filled, runs.uri)
    assert "hidden word" not in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not target.exists()
    assert {p for p in runs.folder.rglob("*") if p.suffix != ".db-journal"} == set(before)
    assert part.stat().st_mtime_ns == before[part]


def test_the_command_line(runs, root):
    def call(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-m", "seamount.cli.main", "track", *arguments, "--store", runs.uri],
            capture_output=True, text=True, cwd=root, timeout=60, check=False,
        )  # fmt: skip

    text = (
        "select name, count(*) n, sum(1) total from metrics where run_id = 'one'"
        " group by name order by name"
    )
    assert json.loads(call("sql", text, "--json").stdout) == [
        {"name": "acc", "n": 40, "total": 40},
        {"name": "loss", "n": 36, "total": 36},
    ]
    assert call("sql", text, "--csv").stdout.splitlines() == [
        "name,n,total", "acc,40,40", "loss,36,36",
    ]  # fmt: skip
    assert call("sql", text).stdout.splitlines()[2] == "loss  36  36"
    answer = call("sql", "copy (select 1) to 'x'")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "give one SELECT" in answer.stderr
    assert call("compact").returncode == 0
    assert list((runs.folder / "points" / "two").glob("*.parquet"))
    assert call("compact", "unknown").returncode == 2


def test_configs_beyond_doubles_and_unicode_stop_no_table(store, tmp_path):
    with Run(store=store.uri, run_id="r", capture=False) as run:
        run.log_configs({"seed": 2**1100, "low": -(2**1100), "path": "a\udcff", "lr": 0.5})
    table = query.sql("select name, number, value from configs order by name", store.uri)
    numbers = dict(zip(table["name"].to_pylist(), table["number"].to_pylist(), strict=True))
    assert numbers == {"low": -math.inf, "lr": 0.5, "path": None, "seed": math.inf}
    assert "a\\udcff" in table["value"].to_pylist()
    (row,) = query.runs(store=store.uri, columns=["config.path"]).to_arrow().to_pylist()
    assert row["config.path"] == "a\\udcff"
    found = query.run(store.folder, "r")
    emit(found, str(tmp_path / "run.json"))
    assert json.loads((tmp_path / "run.json").read_text())["config"]["path"] == "a\udcff"


def test_any_columns_are_printed(runs, capsys):
    """Two columns of one name, values with parts, and text that moves the cursor."""
    from seamount.cli.track import sql

    sql("select 1 as x, 2 as x, ['a\x1b[2Jb'] as l", store=runs.uri)
    names, row = capsys.readouterr().out.splitlines()
    assert names.split() == ["x", "x", "l"]
    assert row.split()[:2] == ["1", "2"] and "\x1b" not in row
    sql("select 1 as x, 2 as x", csv=True, store=runs.uri)
    assert capsys.readouterr().out == "x,x\n1,2\n"
    with pytest.raises(UserError, match="two columns are named 'x': give"):
        sql("select 1 as x, 2 as x", store=runs.uri, json_file="-")
    nested = "select [1.50::decimal(4, 2)] l, {'a': date '2024-01-02', 'b': nan} s, map {1: 2} m"
    sql(nested.replace("nan", "'nan'::double"), store=runs.uri, json_file="-")
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {"l": [1.5], "s": {"a": "2024-01-02", "b": "NaN"}, "m": [[1, 2]]}
