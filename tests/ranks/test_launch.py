"""Ranks as child processes: they are heard, their deaths are named, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seamount.core.errors import SeamountError, UserError
from seamount.training.launch import run_ranks


@pytest.mark.parametrize("ranks", [1, 2])
def test_result_and_events_arrive(ranks):
    events: list[dict] = []
    job = {"a": [1, 2.5, None, "ü"]}
    got = run_ranks("rank_functions:tell", job, ranks, 1, events.append)
    assert got["job"] == job
    assert got["environment"] == {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    assert sorted(e["rank"] for e in events) == list(range(ranks))
    assert {e["ranks"] for e in events} == {ranks}


def test_a_ranks_error_is_raised_here():
    with pytest.raises(UserError, match="lower it"):
        run_ranks("rank_functions:tell", {"refuse": "too large: lower it"})


def test_an_unknown_target_is_told():
    with pytest.raises(SeamountError, match="no_such_module"):
        run_ranks("no_such_module:f", {})


def test_a_dead_rank_ends_the_job_and_is_named():
    start_s = time.monotonic()
    with pytest.raises(SeamountError, match=r"rank 1 was killed by signal 9 \(SIGKILL\)"):
        run_ranks("rank_functions:die", {}, 3)
    assert time.monotonic() - start_s < 60


CALLER = """
import sys
from seamount.core.errors import Preempted
from seamount.training.launch import run_ranks
try:
    run_ranks("rank_functions:wait", {"folder": sys.argv[1]}, int(sys.argv[2]), 1)
except Preempted:
    raise SystemExit(75)
"""


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_rank_outlives_its_caller(tmp_path, ranks, number):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", CALLER, str(tmp_path), str(ranks)]
    caller = subprocess.Popen(command, env=environment)
    try:
        pids = [int(wait_for(tmp_path / str(rank))) for rank in range(ranks)]
        caller.send_signal(number)
        code = caller.wait(60)
    finally:
        caller.kill()
    assert code == (-9 if number == signal.SIGKILL else 75)
    deadline_s = time.monotonic() + 30
    while any(alive(pid) for pid in pids):
        assert time.monotonic() < deadline_s, "a rank is left"
        time.sleep(0.05)


def wait_for(path: Path) -> str:
    deadline_s = time.monotonic() + 60
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < deadline_s, f"{path} never came"
        time.sleep(0.02)
    return path.read_text()


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
