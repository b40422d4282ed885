"""The stock MLflow client on our store, in process: our runs are its runs, and the reverse."""

from __future__ import annotations

import math
import threading

import pytest

from seamount.tracking import Run, query
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

# Third-party code of MLflow's own dependencies warns; ours stays strict in the other files.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    """One store for the module: making MLflow's tables costs seconds."""
    return open_store(tmp_path_factory.mktemp("mlflow") / "store").uri


@pytest.fixture(scope="module")
def client(uri):
    import os

    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=uri)


def test_our_run_through_their_client(uri, client):
    with Run(project="ours", name="first", store=uri, tags={"team": "blue"}) as run:
        run.log_configs({"model": {"dim": 64}, "lr": 0.1})
        for step in range(100):
            run.log_metrics({"loss": 1 / (step + 1)}, step=step)
        run.log_metrics({"bad": math.nan}, step=0)
        run.log_metrics({"bad": math.inf}, step=1.5)
        run.assign_files({"out/report.txt": b"hello"})
        with Run(store=uri, run_id=run.run_id, rank=1) as second:
            second.log_metrics({"loss": 9.0}, step=0)
        live = client.get_run(run.run_id)
        assert live.info.status == "RUNNING"
    experiment = client.get_experiment_by_name("ours")
    (found,) = client.search_runs(
        [experiment.experiment_id],
        "metrics.loss < 0.5 AND params.lr = '0.1' AND tags.team = 'blue'",
    )
    assert (found.info.run_id, found.info.run_name, found.info.status) == (
        run.run_id, "first", "FINISHED",
    )  # fmt: skip
    assert found.data.params == {"model/dim": "64", "lr": "0.1"}
    assert found.data.metrics["loss@1"] == 9.0
    history = client.get_metric_history(run.run_id, "loss")
    assert [(m.step, m.value) for m in history] == [(s, 1 / (s + 1)) for s in range(100)]
    bad = client.get_metric_history(run.run_id, "bad")
    assert math.isnan(bad[0].value)
    assert (bad[1].step, bad[1].value) == (1, math.inf)  # a fractional step is rounded down
    assert [f.path for f in client.list_artifacts(run.run_id, "out")] == ["out/report.txt"]
    local = client.download_artifacts(run.run_id, "out/report.txt")
    with open(local) as stream:
        assert stream.read() == "hello"


def test_earlier_snapshots_and_failures_are_shown_as_tags(uri, client):
    with pytest.raises(ValueError, match="boom"), Run(project="ours", store=uri) as run:
        run.log_configs({"lr": 0.1})
        run.log_configs({"epochs": 3})
        run.log_configs({"lr": 0.2})
        run.add_tags(["gone"])
        client.get_run(run.run_id)
        run.remove_tags(["gone"])
        raise ValueError("boom")
    found = client.get_run(run.run_id)
    assert found.info.status == "FAILED"
    assert found.data.params == {"lr": "0.2", "epochs": "3"}
    assert found.data.tags["seamount.config.1"] == '{"epochs": 3, "lr": 0.1}'
    assert "seamount.config.0" not in found.data.tags
    assert found.data.tags["seamount.error"] == "ValueError: boom"
    assert "gone" not in found.data.tags


def test_their_run_is_ours(uri, client, tmp_path):
    from mlflow.entities import Metric, Param
    from mlflow.exceptions import MlflowException

    experiment = client.create_experiment("theirs")
    run_id = client.create_run(experiment, run_name="made by mlflow").info.run_id
    client.log_param(run_id, "a", 1)
    client.log_param(run_id, "a", 1)
    with pytest.raises(MlflowException, match="not allowed"):
        client.log_param(run_id, "a", 2)
    client.log_metric(run_id, "q", 3.0, step=2, timestamp=1000)
    client.log_metric(run_id, "q", 3.0, step=2, timestamp=1000)  # a client that tried twice
    batch = [Metric("q", 4.0, 2000, 3), Metric("q", 5.0, 2000, 3), Metric("z", math.nan, 2000, 0)]
    client.log_batch(run_id, metrics=batch, params=[Param("b", "x")])
    client.set_tag(run_id, "keep", "1")
    client.set_tag(run_id, "drop", "1")
    client.delete_tag(run_id, "drop")
    (tmp_path / "f.txt").write_text("file")
    client.log_artifact(run_id, str(tmp_path / "f.txt"))
    assert query.run(uri, run_id)["state"] == "Running"
    client.set_terminated(run_id, "FAILED", end_time=5000)
    assert [(m.step, m.value) for m in client.get_metric_history(run_id, "q")] == [
        (2, 3.0), (3, 4.0), (3, 5.0),
    ]  # fmt: skip
    assert client.get_run(run_id).data.metrics["q"] in (4.0, 5.0)
    row = query.run(uri, run_id)
    assert (row["project"], row["name"], row["state"]) == ("theirs", "made by mlflow", "Failed")
    assert row["ended_us"] == 5_000_000
    assert row["config"] == {"a": "1", "b": "x"}
    assert row["tags"]["keep"] == "1"
    assert "drop" not in row["tags"]
    assert verify(open_store(uri), run_id)["ok"]
    client.delete_run(run_id)
    assert run_id not in [r["run_id"] for r in query.runs(store=uri)]
    client.restore_run(run_id)
    assert run_id in [r["run_id"] for r in query.runs(store=uri)]


def test_their_client_continues_our_run(uri, client):
    with Run(project="ours", store=uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    client.log_metric(run.run_id, "eval", 2.0, step=0)
    client.log_metric(run.run_id, "loss", 0.5, step=1)
    client.update_run(run.run_id, name="renamed")
    assert [m.value for m in client.get_metric_history(run.run_id, "loss")] == [1.0, 0.5]
    row = query.run(uri, run.run_id)
    assert (row["name"], row["state"]) == ("renamed", "Completed")


def test_pages_of_a_history(uri, client):
    with Run(project="ours", store=uri) as run:
        for step in range(25):
            run.log_metrics({"x": step}, step=step)
    store = client._tracking_client.store
    seen, token = [], None
    while True:
        page = store.get_metric_history(run.run_id, "x", max_results=10, page_token=token)
        seen += [m.step for m in page]
        token = page.token
        if not token:
            break
    assert seen == list(range(25))


def test_charts_keep_spikes_within_their_budget(uri, client):
    with Run(project="ours", store=uri) as run:
        for step in range(5000):
            run.log_metrics({"x": 1000.0 if step == 3217 else 1.0}, step=step)
    store = client._tracking_client.store
    found = store.get_metric_history_bulk_interval([run.run_id], "x", 320, None, None)
    steps = [m.step for m in found]
    assert len(found) <= 320
    assert {0, 3217, 4999} <= set(steps)
    assert steps == sorted(steps)
    part = store.get_metric_history_bulk_interval([run.run_id], "x", 320, 10, 19)
    assert [m.step for m in part] == list(range(10, 20))


def test_names_cannot_leave_the_store(uri, client):
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match="outside the tracking store"):
        client.create_experiment("escape", artifact_location="/etc")
    with pytest.raises(MlflowException):
        client.get_run("../../etc")
    with Run(project="ours", store=uri) as run:
        run.assign_files({"a.txt": b"x"})
    with pytest.raises(MlflowException):
        client.list_artifacts(run.run_id, "../..")


def test_threads_through_one_client_lose_nothing(uri, client):
    experiment = client.create_experiment("threads")
    run_id = client.create_run(experiment).info.run_id

    def work(number: int) -> None:
        for step in range(20):
            client.log_metric(run_id, f"m{number}", step, step=step)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        steps = [m.step for m in client.get_metric_history(run_id, f"m{number}")]
        assert steps == list(range(20))


def test_model_registry_on_the_same_folder(uri, client):
    from mlflow import MlflowClient

    registry = MlflowClient(tracking_uri=uri, registry_uri=uri)
    with Run(project="ours", store=uri) as run:
        run.assign_files({"model/config.json": b"{}"})
    registry.create_registered_model("demo")
    source = registry.get_run(run.run_id).info.artifact_uri + "/model"
    version = registry.create_model_version("demo", source, run.run_id)
    registry.set_registered_model_alias("demo", "champion", version.version)
    assert registry.get_model_version_by_alias("demo", "champion").run_id == run.run_id


def test_tables_of_mlflow_are_made_again_after_the_index_was(uri, client):
    with Run(project="ours", store=uri) as run:
        run.log_metrics({"x": 1.0}, step=0)
    client.get_run(run.run_id)
    (open_store(uri).folder / "index.db").unlink()
    assert client.get_run(run.run_id).data.metrics == {"x": 1.0}
