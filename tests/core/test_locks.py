"""Locks hold between processes and go with their holder."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from killing import in_child

from seamount.core import locks


@pytest.mark.parametrize("name", [".", "a.lock"])
def test_a_lock_goes_with_its_holder(tmp_path: Path, name: str) -> None:
    reader, writer = os.pipe()

    def hold() -> None:
        with locks.tried(tmp_path / name) as mine:
            os.write(writer, b"1" if mine else b"0")
            signal.pause()

    pid = in_child(hold)
    assert os.read(reader, 1) == b"1"
    with locks.tried(tmp_path / name) as mine:
        assert not mine
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with locks.tried(tmp_path / name) as mine:
        assert mine
        with locks.tried(tmp_path / name) as again:  # also within one process
            assert not again
    with locks.held(tmp_path / name), locks.tried(tmp_path / name) as mine:
        assert not mine
