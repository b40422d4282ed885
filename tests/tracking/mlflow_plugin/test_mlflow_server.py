"""A real `mlflow server` on our store: REST clients, charts, artifacts and the page itself."""

from __future__ import annotations

import base64
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager

import pytest

from seamount.tracking import Run, query
from seamount.tracking.store.folder import open_store

pytestmark = [pytest.mark.server, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(address, store address) of `seamount track ui`; takes some 20 s to start."""
    with _serving(tmp_path_factory.mktemp("server")) as found:
        yield found


@contextmanager
def _serving(folder):
    uri = open_store(folder / "store").uri
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--store", uri]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=log, stderr=subprocess.STDOUT, cwd=folder, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process, folder / "log")
        yield address, uri
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(address, process, log):
    give_up = time.monotonic() + 180
    while time.monotonic() < give_up:
        assert process.poll() is None, log.read_text()
        try:
            if _get(f"{address}/health") == b"OK":
                return
        except urllib.error.URLError:
            time.sleep(0.2)
    pytest.fail(f"no answer in time: {log.read_text()}")


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read()


@pytest.fixture
def client(server, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    from mlflow import MlflowClient

    return MlflowClient(tracking_uri=server[0])


def test_our_run_over_rest_while_it_is_running(server, client):
    address, uri = server
    with Run(project="rest", name="live", store=uri) as run:
        run.log_configs({"lr": 0.1})
        for step in range(1000):
            run.log_metrics({"loss": 500.0 if step == 777 else 1.0}, step=step)
        run.log_metrics({"bad": math.nan}, step=0)
        run.log_metrics({"bad": math.inf}, step=1)
        run.assign_files({"out/report.txt": b"hello"})
        experiment = client.get_experiment_by_name("rest")
        (found,) = client.search_runs([experiment.experiment_id], "params.lr = '0.1'")
        assert (found.info.run_id, found.info.status) == (run.run_id, "RUNNING")
        assert len(client.get_metric_history(run.run_id, "loss")) == 1000
        bad = [m.value for m in client.get_metric_history(run.run_id, "bad")]
        assert math.isnan(bad[0])
        assert bad[1] == math.inf
        run.log_metrics({"loss": 2.0}, step=1000)
        assert len(client.get_metric_history(run.run_id, "loss")) == 1001
    where = urllib.parse.urlencode(
        {"run_ids": run.run_id, "metric_key": "loss", "max_results": 320}
    )
    chart = _get(f"{address}/ajax-api/2.0/mlflow/metrics/get-history-bulk-interval?{where}")
    values = [m["value"] for m in json.loads(chart)["metrics"]]
    assert 500.0 in values
    assert len(values) <= 320
    where = urllib.parse.urlencode({"path": "out/report.txt", "run_uuid": run.run_id})
    assert _get(f"{address}/get-artifact?{where}") == b"hello"
    assert [f.path for f in client.list_artifacts(run.run_id)] == ["out"]
    for path in ("../../../format.json", "/etc/passwd"):
        where = urllib.parse.urlencode({"path": path, "run_uuid": run.run_id})
        with pytest.raises(urllib.error.HTTPError):
            _get(f"{address}/get-artifact?{where}")


def test_a_run_made_over_rest_is_ours(server, client, tmp_path):
    _, uri = server
    experiment = client.create_experiment("by rest")
    run_id = client.create_run(experiment, run_name="remote").info.run_id
    client.log_param(run_id, "a", "1")
    for step in range(5):
        client.log_metric(run_id, "q", step, step=step)
    (tmp_path / "f.txt").write_text("file")
    client.log_artifact(run_id, str(tmp_path / "f.txt"))
    client.set_terminated(run_id)
    row = query.run(uri, run_id)
    assert (row["project"], row["state"], row["config"]) == ("by rest", "Completed", {"a": "1"})
    assert [p["value"] for p in query.points(uri, run_id, "q")] == [0, 1, 2, 3, 4]
    assert [f.path for f in client.list_artifacts(run_id)] == ["f.txt"]


def test_the_page_is_served(server):
    assert b"<title>MLflow</title>" in _get(server[0] + "/mlflow/")
    assert b"<title>MLflow</title>" not in _get(server[0])  # the dashboard's own


def test_with_a_token_the_whole_server_demands_it(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("guarded")
    monkeypatch.setenv("SEAMOUNT_TRACKING_TOKEN", "long-and-secret")
    with _serving(folder) as (address, _):
        experiment = "/api/2.0/mlflow/experiments/get?experiment_id=0"
        for path in ("/mlflow/", experiment, "/version", "/api/v1/runs"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                _get(address + path)
            assert caught.value.code == 401
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert answer.url == address + "/login"  # a browser's way in
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "wrong")
        from mlflow import MlflowClient
        from mlflow.exceptions import MlflowException

        with pytest.raises(MlflowException):
            MlflowClient(tracking_uri=address).search_experiments()
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "long-and-secret")
        assert MlflowClient(tracking_uri=address).search_experiments()
        page = urllib.request.Request(address + "/mlflow/")
        page.add_header(
            "Authorization", "Basic " + base64.b64encode(b"me:long-and-secret").decode()
        )
        with urllib.request.urlopen(page, timeout=30) as answer:
            assert b"<title>MLflow</title>" in answer.read()
        here = open_store(folder / "here")
        with Run(project="rest", run_id="sent", store=here.uri) as run:
            run.log_metrics({"loss": 2.0}, step=1)
        from seamount.tracking.delivery.sync import sync

        assert sync(here, [], address)["kind"] == "seamount"
        assert MlflowClient(tracking_uri=address).get_run("sent").data.metrics == {"loss": 2.0}
    assert not [
        p for p in folder.rglob("*") if p.is_file() and b"long-and-secret" in p.read_bytes()
    ]
