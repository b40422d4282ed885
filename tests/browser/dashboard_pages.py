"""A dashboard on a store of its own: `seamount track ui` as people start it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from seamount.tracking.dashboard import assets
from seamount.tracking.store.folder import Store


def need_assets() -> None:
    """Skip where the page's libraries are not installed; fail in CI."""
    sentence = assets.what_is_missing()
    if sentence is not None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(sentence)


@contextmanager
def served(store: Store, folder: Path, **environment: str) -> Iterator[str]:
    """The address of a dashboard on `store`; stopped at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--no-mlflow"]
    with (folder / "ui.log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--store", store.uri, "--port", str(port)],
            stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, **environment},
        )  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, folder / "ui.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        assert process.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"no answer in time: {log.read_text()}")
