"""Fixtures every test may use."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """A background job ignores SIGINT, and so would every child of the tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository root."""
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Given real data beside the repository; where absent, CI fails and others skip."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the given data in {folder}")
        pytest.skip("the given data folder is not beside this checkout")
    return folder


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches a person's own ~/.seamount."""
    monkeypatch.setenv("SEAMOUNT_HOME", str(tmp_path_factory.mktemp("home")))
    # A process more for each of hundreds of runs; tests/tracking/test_watcher*.py turn it on.
    monkeypatch.setenv("SEAMOUNT_TRACKING_WATCHER", "off")


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Prefect on a temporary server, with its results in a folder of the tests."""
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings
    from prefect.testing.utilities import prefect_test_harness

    own = {PREFECT_LOCAL_STORAGE_PATH: tmp_path_factory.mktemp("results")}
    with temporary_settings(own), prefect_test_harness(server_startup_timeout=240):
        yield
