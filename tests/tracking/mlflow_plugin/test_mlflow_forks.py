"""What MLflow's client sees of forks and previews."""

from __future__ import annotations

import pytest

from seamount.tracking import Run

# Third-party code of MLflow's own dependencies warns; ours stays strict in the other files.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def client(store, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=store.uri)


def points(client, run_id: str, key: str) -> list[tuple[int, float]]:
    return [(m.step, m.value) for m in client.get_metric_history(run_id, key)]


def test_a_fork_is_a_run_of_its_own_with_its_parents_points_before_its_own(store, client):
    parent = Run(store=store.uri, run_id="p", capture=False)
    parent.log_configs({"lr": 0.1, "dim": 64})
    for step in range(5):
        parent.log_metrics({"loss": 10.0 - step}, step=step)
    parent.log_metrics({"acc": 0.5}, step=0)
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=2, capture=False) as run:
        run.log_configs({"lr": 0.5})
        run.log_metrics({"loss": 1.0}, step=3)
        run.log_metrics({"loss": -1.0, "dice": 1.0}, step=9, preview=True)
    assert points(client, "f", "loss") == [(0, 10), (1, 9), (2, 8), (3, 1)]
    found = client.get_run("f")
    assert found.data.metrics == {"loss": 1.0, "acc": 0.5}
    assert found.data.params == {"lr": "0.5", "dim": "64"}
    tags = found.data.tags
    assert (tags["seamount.fork_run_id"], tags["seamount.fork_step"]) == ("p", "2")
    assert "mlflow.parentRunId" not in tags
    (same,) = client.search_runs(
        [found.info.experiment_id], "tags.`seamount.fork_run_id` = 'p' and metrics.acc = 0.5"
    )
    assert same.info.run_id == "f"
    assert points(client, "f", "dice") == []
    # what the parent says later, below the fork, reaches the fork's latest values too
    parent.log_metrics({"acc": 0.75}, step=1)
    parent.log_metrics({"acc": 0.875}, step=3)
    parent.close()
    assert client.get_run("f").data.metrics["acc"] == 0.75
    assert points(client, "f", "acc") == [(0, 0.5), (1, 0.75)]


def test_a_fork_whose_parent_is_gone_says_so(store, client):
    with Run(store=store.uri, run_id="p", capture=False) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=2, capture=False) as run:
        run.log_metrics({"loss": 2.0}, step=3)
    (store.segments / "p").rename(store.folder / "elsewhere")
    from mlflow.exceptions import MlflowException

    with pytest.raises(MlflowException, match="which is gone from this store"):
        points(client, "f", "loss")
    assert client.get_run("f").data.metrics == {"loss": 2.0}
