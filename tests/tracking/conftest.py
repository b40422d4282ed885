"""Fixtures and helpers of the tracking tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from watched import ON, TRAINER, until, watchers

from seamount.tracking.store.folder import Store, open_store
from seamount.tracking.store.index import Point


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A fresh store."""
    return open_store(tmp_path / "store")


@pytest.fixture
def history() -> Callable[..., list[Point]]:
    """Points of a metric after taking in everything that was logged."""

    def read(store: Store, run_id: str, name: str, rank: int = 0, **how: int) -> list[Point]:
        store.refresh()
        with store.index() as index:
            return index.history(run_id, name, rank, **how)

    return read


@pytest.fixture
def spawn(root: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start a Python program given as text, its output piped; killed at the end of the test."""

    started: list[subprocess.Popen[str]] = []

    def start(program: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        import os

        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **variables},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def ready(spawn):
    """Start a trainer and wait until it is ready (and its watcher holds its lock)."""

    def start(store: Store, program: str = TRAINER, **variables: str) -> Any:
        process = spawn(program, store.uri, **(ON | variables))
        for line in process.stdout:
            if line.strip() == "ready":
                break
        until(lambda: watchers(store))
        return process

    return start
