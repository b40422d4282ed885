"""MLflow's own page on our store, in a real browser: the runs' table, a run's values, its chart."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seamount.tracking import Run
from seamount.tracking.store.folder import open_store

pytestmark = [
    pytest.mark.browser,
    pytest.mark.server,
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """(address, store) of `seamount track ui` on a fresh store."""
    uri = open_store(tmp_path / "store").uri
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--store", uri]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{address}/health", server, tmp_path / "log")
        yield address, uri
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 180
    while time.monotonic() < give_up:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=30):
                return
        except urllib.error.URLError:
            time.sleep(0.2)
    pytest.fail(f"no answer in time: {log.read_text()}")


def test_the_page_shows_a_run_of_ours(page: Any, served: tuple[str, str], tmp_path: Path) -> None:
    address, uri = served
    with Run(project="shown", name="heron over the reef", store=uri) as run:
        run.log_configs({"model": {"dim": 4321}})
        for step in range(3000):
            run.log_metrics({"loss": 1000.0 if step == 1777 else 0.123456}, step=step)
    page.goto(f"{address}/mlflow/#/experiments")
    page.get_by_text("shown", exact=True).first.wait_for()
    found = _experiment(address, "shown")
    page.goto(f"{address}/mlflow/#/experiments/{found}/runs")
    page.get_by_text("heron over the reef").first.wait_for()
    page.goto(f"{address}/mlflow/#/experiments/{found}/runs/{run.run_id}")
    page.get_by_text("0.123456").first.wait_for()
    page.get_by_text("4321").first.wait_for()
    page.get_by_text("heron over the reef").first.wait_for()
    page.goto(f"{address}/mlflow/#/experiments/{found}/runs/{run.run_id}/model-metrics")
    page.locator(".plot-container").first.wait_for()
    page.get_by_text("1000").first.wait_for()  # the axis reaches up to the spike
    page.screenshot(path=tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000


def _experiment(address: str, name: str) -> str:
    where = f"{address}/api/2.0/mlflow/experiments/get-by-name?experiment_name={name}"
    with urllib.request.urlopen(where, timeout=30) as answer:
        return json.load(answer)["experiment"]["experiment_id"]
