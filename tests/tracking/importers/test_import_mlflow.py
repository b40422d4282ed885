"""MLflow's own stores, filled by MLflow itself, against what MLflow's client says of them."""

from __future__ import annotations

import json
import math
import shutil

import pytest

from seamount.core.errors import CorruptData
from seamount.tracking import query
from seamount.tracking.importing import load, mlflow_client
from seamount.tracking.importing.records import Origin, Points, Report

# Third-party code of MLflow's own dependencies warns; ours stays strict in the other files.
pytestmark = pytest.mark.filterwarnings("ignore")

NAME = "val/été loss.1"


def fill(client):
    """Two runs: one with everything, one deleted; returns their ids."""
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    experiment = client.create_experiment("exp ü", artifact_location=client.where)
    run = client.create_run(experiment, start_time=1_700_000_000_123, run_name="first")
    run_id = run.info.run_id
    points = [Metric(NAME, i / 7, 1_700_000_000_000 + i, i % 5 - 2) for i in range(40)]
    odd = [math.nan, math.inf, -math.inf, 1e-320, 5e300]
    points += [Metric("odd", v, 1_700_000_001_000 + i, 2**40 + i) for i, v in enumerate(odd)]
    params = [Param("lr", "0.1"), Param("text", "a\nb ☃"), Param("long", "x" * 6000)]
    client.log_batch(run_id, points, params, [RunTag("k", "wert"), RunTag("multi", "a\nb")])
    client.log_inputs(
        run_id,
        [DatasetInput(Dataset("set", "d1g", "local", '{"uri": "x"}'), [InputTag("context", "t")])],
    )
    client.log_text(run_id, "hello", "sub/a.txt")
    client.set_terminated(run_id, "KILLED", 1_700_000_009_000)
    other = client.create_run(experiment).info.run_id
    client.log_metric(other, "x", 1.0)
    client.delete_run(other)
    return run_id, other


@pytest.fixture(scope="module")
def empty_database(tmp_path_factory):
    """A fresh mlflow.db: making its tables costs seconds, so each test copies this one."""
    from mlflow import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def database(tmp_path, empty_database):
    from mlflow import MlflowClient

    (tmp_path / "src").mkdir()
    shutil.copy(empty_database, tmp_path / "src/mlflow.db")
    client = MlflowClient(f"sqlite:///{tmp_path}/src/mlflow.db")
    client.where = str(tmp_path / "src/art")
    return client, tmp_path / "src/mlflow.db"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = MlflowClient(str(tmp_path / "src/mlruns"))
    client.where = None
    return client, tmp_path / "src/mlruns"


@pytest.fixture(params=["database", "folder"])
def source(request):
    return request.getfixturevalue(request.param)


def expected(client, run_id, key):
    found = client.get_metric_history(run_id, key)
    return sorted((m.step, m.timestamp * 1000, repr(m.value)) for m in found)


def test_everything_of_a_run_is_there(source, store, history):
    client, path = source
    run_id, other = fill(client)
    result = load.load(str(path), store.folder)
    assert result["kind"] == "mlflow_store"
    assert {r["outcome"] for r in result["runs"]} == {"imported"}, result
    run = query.run(store.folder, run_id)
    assert (run["project"], run["name"], run["state"]) == ("exp ü", "first", "Interrupted")
    assert (run["created_us"], run["ended_us"]) == (1_700_000_000_123_000, 1_700_000_009_000_000)
    assert run["config"] == {"lr": "0.1", "text": "a\nb ☃", "long": "x" * 6000}
    assert run["tags"].items() >= {("k", "wert"), ("multi", "a\nb")}
    dataset = json.loads(run["tags"]["mlflow.dataset/set@d1g"])
    assert (dataset["source"], dataset["tags"]) == ('{"uri": "x"}', {"context": "t"})
    for key in (NAME, "odd"):
        points = [(p.step, p.time_us, repr(p.value)) for p in history(store, run_id, key)]
        assert sorted(points) == expected(client, run_id, key)
    assert (store.artifact_folder(run_id) / "sub/a.txt").read_text() == "hello"
    with store.index() as index:
        assert [r["run_id"] for r in index.runs()] == [run_id]
        assert index.run(other)["deleted"] == 1


def test_a_live_run_is_brought_up_to_date(source, store, history):
    client, path = source
    run_id = client.create_run("0").info.run_id
    client.log_metric(run_id, "loss", 1.0, step=0)
    load.load(str(path), store.folder)
    assert query.run(store.folder, run_id)["state"] == "Running"
    for step in (1, 2):
        client.log_metric(run_id, "loss", 1.0, step=step)
    client.set_tag(run_id, "stage", "late")
    client.set_terminated(run_id, "FAILED")
    rows = load.load(str(path), store.folder)["runs"]
    assert [(r["outcome"], r["counts"].get("points")) for r in rows] == [("updated", 2)]
    assert [p.step for p in history(store, run_id, "loss")] == [0, 1, 2]
    run = query.run(store.folder, run_id)
    assert (run["state"], run["tags"]["stage"]) == ("Failed", "late")
    assert load.load(str(path), store.folder)["runs"][0]["outcome"] == "already there"
    client.delete_run(run_id)
    load.load(str(path), store.folder)
    store.refresh()
    with store.index() as index:
        assert index.run(run_id)["deleted"] == 1


def test_the_client_reads_the_same(database, store, monkeypatch):
    """Through MLflow's client, as from a server, in pages of three."""
    client, path = database
    run_id, other = fill(client)
    monkeypatch.setattr(mlflow_client, "_PAGE", 3)
    found = {run.wanted_id: run for run in mlflow_client.runs(Origin(f"sqlite:///{path}"))}
    assert set(found) == {run_id, other} and found[other].deleted
    items = list(found[run_id].stream(Report()))
    points = [i for i in items if isinstance(i, Points)]
    for key in (NAME, "odd"):
        mine = [(p.step, p.time_us, repr(p.values[key])) for p in points if key in p.values]
        assert sorted(mine) == expected(client, run_id, key)


def test_a_live_run_of_a_server_is_read_again_every_time(database, store, monkeypatch):
    """A page of runs tells nothing of new artifacts, nor of a point like the last one."""
    client, path = database
    experiment = client.create_experiment("live", artifact_location=client.where)
    run_id = client.create_run(experiment).info.run_id

    def outcome() -> tuple[str, dict[str, int]]:
        (run,) = mlflow_client.runs(Origin(f"sqlite:///{path}"))
        row = load._attempt(store, "mlflow_store", run, None, False)
        return row["outcome"], row["counts"]

    assert outcome()[0] == "imported"
    client.log_text(run_id, "late", "late.txt")
    assert outcome() == ("updated", {"files": 1})
    client.set_terminated(run_id)
    assert outcome()[0] == "updated"
    client.log_text(run_id, "later", "later.txt")
    assert outcome() == ("already there", {})


def test_a_moved_mlruns_keeps_its_artifacts(folder, store, tmp_path):
    client, path = folder
    run_id, _ = fill(client)
    shutil.move(path, tmp_path / "elsewhere")
    load.load(str(tmp_path / "elsewhere"), store.folder)
    assert (store.artifact_folder(run_id) / "sub/a.txt").read_text() == "hello"


def test_artifacts_outside_the_source_need_leave(database, store, tmp_path):
    client, path = database
    (tmp_path / "private").mkdir()
    (tmp_path / "private/key").write_text("secret")
    experiment = client.create_experiment("e", artifact_location=str(tmp_path / "private"))
    run_id = client.create_run(experiment).info.run_id
    client.log_text(run_id, "mine", "a.txt")
    (row,) = load.load(str(path), store.folder)["runs"]
    reason = "artifact folders outside the source (allow them with --files)"
    assert [p["reason"] for p in row["problems"]] == [reason]
    assert not (store.folder / "blobs").exists()
    load.load(str(path), store.folder, files=(str(tmp_path / "private"),))
    assert (store.artifact_folder(run_id) / "a.txt").read_text() == "mine"


def test_a_damaged_run_is_told_and_the_others_go_on(folder, store):
    client, path = folder
    run_id, other = fill(client)
    (meta,) = path.glob(f"*/{other}/meta.yaml")
    meta.write_text("!!python/object/apply:os.system ['echo x']")
    (metric,) = path.glob(f"*/{run_id}/metrics/odd")
    metric.write_text("not a point\n" + metric.read_text())
    dated = meta.parent.with_name("dated")
    shutil.copytree(meta.parent, dated)
    (dated / "meta.yaml").write_text("run_id: dated\nstart_time: yesterday")
    (path / "odd").mkdir()
    (path / "odd/meta.yaml").write_text("made: 2026-13-45")
    result = load.load(str(path), store.folder)
    rows = {row["source_id"]: row for row in result["runs"]}
    assert rows.keys() == {run_id, other, "dated", "experiment odd"} and not result["ok"]
    assert [i for i, row in rows.items() if row["outcome"] != "failed"] == [run_id]
    assert "no YAML" in rows["experiment odd"]["error"] and "no YAML" in rows[other]["error"]
    assert "'dated' cannot be read (ValueError: " in rows["dated"]["error"]
    told = {p["reason"] for p in rows[run_id]["problems"]}
    assert "lines of metrics that cannot be read (left out)" in told


def test_another_database_is_one_sentence(tmp_path, store):
    import sqlite3

    sqlite3.connect(tmp_path / "x.db").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(CorruptData, match="no MLflow database"):
        load.load(str(tmp_path / "x.db"), store.folder, kind="mlflow_store")
