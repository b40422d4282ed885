"""Delivery to a stock `mlflow server` on SQLite, read back with the stock MlflowClient."""

from __future__ import annotations

import math
import sys

import pytest
from segment_reader import points as points_in_segments
from servers import BadNetwork, mlflow_server

from seamount.tracking import Run
from seamount.tracking.delivery import mlflow_words as words
from seamount.tracking.delivery.sync import sync

pytestmark = [pytest.mark.slow, pytest.mark.server, pytest.mark.filterwarnings("ignore")]

LARGEST = sys.float_info.max


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Some 20 s to start."""
    started = mlflow_server(tmp_path_factory.mktemp("mlflow")).start()
    yield started
    started.kill()


@pytest.fixture
def client(server, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=server.url)


def the_run(client, project, run_id):
    """The one run there that stands for ours."""
    experiment = client.get_experiment_by_name(project)
    found = client.search_runs([experiment.experiment_id], f"tags.`seamount.run_id` = '{run_id}'")
    assert len(found) == 1
    return found[0]


def expected(store, run_id):
    """Key -> (step, ms, value) as the documentation says a stock server shows our segments."""
    found = {}
    for (name, rank, _), points in points_in_segments(store.run_folder(run_id)).items():
        key = name if rank == 0 else f"{name}.rank{rank}"
        for step, value, time_us in points:
            number = repr(max(-LARGEST, min(LARGEST, value)) if value == value else math.nan)
            found.setdefault(key, set()).add((math.floor(step), time_us // 1000, number))
    return found


def at_server(client, run_id, keys):
    def all_points(key):
        return {
            (m.step, m.timestamp, repr(float(m.value)))
            for m in client.get_metric_history(run_id, key)
        }

    return {key: all_points(key) for key in keys}


def same_points(client, store, project, run_id):
    there = the_run(client, project, run_id)
    wanted = expected(store, run_id)
    assert sorted(there.data.metrics) == sorted(wanted)
    assert at_server(client, there.info.run_id, wanted) == wanted
    return there


def test_a_run_arrives_point_by_point(server, client, store):
    with Run(store=store.uri, run_id="whole", project="stock", name="a name") as run:
        run.log_configs({"lr": 0.1, "model": {"dim": 64}})
        run.add_tags({"kind": "good", "gone": "x"})
        for step in range(1500):
            run.log_metrics({"loss": step / 7, "big": 1e300 * step}, step=step)
        run.log_metrics({"odd": math.nan}, step=1.5)
        run.log_metrics({"odd": math.inf}, step=2)
        run.log_metrics({"odd": -math.inf}, step=-3)
        run.remove_tags(["gone"])
        run.assign_files({"out/report äö.txt": b"hello", "empty": b""})
        run.log_files({"pic": b"123"}, step=4)
        run.log_string_series({"says": "hello"}, step=0)
    with Run(store=store.uri, run_id="whole", rank=1) as second:
        second.log_metrics({"loss": 5.0}, step=7)
    (row,) = sync(store, [], server.url)["runs"]
    assert (row["outcome"], row["refused"], row["sent"]["points"]) == ("delivered", 0, 3004)
    assert list(row["left_out"].values()) == [1]
    there = same_points(client, store, "stock", "whole")
    assert there.data.params == {"lr": "0.1", "model/dim": "64"}
    assert there.data.tags["kind"] == "good"
    assert "gone" not in there.data.tags
    assert (there.info.status, there.info.run_name) == ("FINISHED", "a name")
    names = {f.path for f in client.list_artifacts(there.info.run_id, "out")}
    assert names == {"out/report äö.txt"}
    local = client.download_artifacts(there.info.run_id, "out/report äö.txt", str(store.folder))
    with open(local, "rb") as stream:
        assert stream.read() == b"hello"
    (row,) = sync(store, [], server.url)["runs"]
    assert (row["outcome"], row["sent"]) == ("nothing new", {})
    sync(store, [], server.url, again=True)  # all of it once more
    same_points(client, store, "stock", "whole")


def test_changed_params_names_that_are_not_taken_and_equal_points(server, client, store):
    with Run(store=store.uri, run_id="odd", project="stock") as run:
        run.log_configs({"lr": 0.1})
        run.log_metrics({"f(x)": 1.0, "f[x]": 2.0, "../up": 3.0}, step=0)
        for _ in range(2):
            run.log_metrics({"twice": 1.0}, step=0, timestamp=1.5)
    sync(store, [], server.url)
    with Run(store=store.uri, run_id="odd") as run:
        run.log_configs({"lr": 0.2})
        run.log_metrics({"early": 1.0}, step=0, timestamp=-5.0)  # before 1970: MLflow takes none
        run.log_metrics({"early": 2.0}, step=1)
    (row,) = sync(store, [], server.url)["runs"]
    there = the_run(client, "stock", "odd")
    assert there.data.params == {"lr": "0.1"}
    assert there.data.tags["seamount.param.lr"] == "0.2"
    keys = {words.key(name): name for name in ("f(x)", "f[x]", "../up")}
    assert len(keys) == 3
    assert {keys[k]: v for k, v in there.data.metrics.items() if k in keys} == {
        "f(x)": 1.0, "f[x]": 2.0, "../up": 3.0,
    }  # fmt: skip
    assert {there.data.tags[f"seamount.name.{k}"] for k in keys} == set(keys.values())
    assert len(client.get_metric_history(there.info.run_id, "twice")) == 1  # one point to MLflow
    assert (row["outcome"], row["refused"]) == ("delivered", 1)
    assert "early" in row["refused_first"][0]["what"]
    assert [m.value for m in client.get_metric_history(there.info.run_id, "early")] == [2.0]
    (row,) = sync(store, [], server.url)["runs"]
    assert (row["refused"], row["sent"]) == (1, {})  # told, and not tried again


def test_a_failure_is_told(server, client, store):
    with pytest.raises(ZeroDivisionError), Run(store=store.uri, run_id="fails", project="stock"):
        1 / 0  # noqa: B018
    sync(store, [], server.url)
    there = the_run(client, "stock", "fails")
    assert there.info.status == "FAILED"
    assert there.data.tags["seamount.error"] == "ZeroDivisionError: division by zero"


def test_lost_answers_make_no_second_run_and_no_second_point(server, client, store, monkeypatch):
    monkeypatch.setattr("seamount.tracking.delivery.backoff.FIRST_S", 0.001)
    monkeypatch.setattr("seamount.tracking.delivery.mlflow_events.PIECE_BYTES", 10_000)
    bad = BadNetwork(server.port, spoil=0.9, seed=3)
    for number in range(2):
        with Run(store=store.uri, run_id=f"bad{number}", project="bad") as run:
            run.log_configs({"number": number})
            for step in range(600):
                run.log_metrics({"loss": step / 7}, step=step)
            run.assign_files({"f.txt": b"x" * 5000})
    rows = sync(store, [], bad.url)["runs"]
    assert [row["outcome"] for row in rows] == ["delivered"] * 2
    assert all(bad.lost.values()), bad.lost
    for number in range(2):
        there = same_points(client, store, "bad", f"bad{number}")
        assert [f.path for f in client.list_artifacts(there.info.run_id)] == ["f.txt"]
    bad.close()


def test_a_creation_that_the_server_finished_too_late_leaves_one_run(server, client, store):
    run = Run(store=store.uri, run_id="late", project="stock")
    run.log_metrics({"x": 1.0}, step=0)
    sync(store, [], server.url)
    experiment = client.get_experiment_by_name("stock").experiment_id
    client.create_run(experiment, tags={"seamount.run_id": "late"})  # the earlier one, only now
    run.close()
    sync(store, [], server.url)
    same_points(client, store, "stock", "late")


def test_a_run_deleted_there_is_told_and_made_anew_only_on_request(server, client, store):
    with Run(store=store.uri, run_id="trash", project="stock") as run:
        run.log_metrics({"x": 1.0}, step=0)
    sync(store, [], server.url)
    there = the_run(client, "stock", "trash")
    client.delete_run(there.info.run_id)
    with Run(store=store.uri, run_id="trash") as run:
        run.log_metrics({"x": 2.0}, step=1)
    (row,) = sync(store, [], server.url)["runs"]
    assert row["outcome"] == "left"
    assert "deleted" in row["problem"]
    client.restore_run(there.info.run_id)
    (row,) = sync(store, [], server.url)["runs"]
    assert (row["outcome"], row["sent"]["points"]) == ("delivered", 1)
    same_points(client, store, "stock", "trash")


def test_a_fork_has_its_configuration_and_its_own_points(server, client, store):
    with Run(store=store.uri, run_id="parent", project="forks") as run:
        run.log_configs({"lr": 0.1, "dim": 4})
        run.log_metrics({"x": 1.0}, step=0)
    with Run(store=store.uri, run_id="child", fork_run_id="parent", fork_step=0) as run:
        run.log_configs({"lr": 0.2})
        run.log_metrics({"x": 2.0}, step=1)
        run.log_metrics({"x": 9.0}, step=2, preview=True)
    rows = sync(store, [], server.url)["runs"]
    assert [row["outcome"] for row in rows] == ["delivered"] * 2
    there = the_run(client, "forks", "child")
    assert there.data.params == {"lr": "0.2", "dim": "4"}
    assert there.data.tags["seamount.fork_run_id"] == "parent"
    assert [m.value for m in client.get_metric_history(there.info.run_id, "x")] == [2.0]
