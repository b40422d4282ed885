"""kill -9 at random moments: every acknowledged point is in the store exactly once."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

TRAINER = """
import os, sys, time
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id=sys.argv[2])
told = os.open(sys.argv[3], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
print("ready", flush=True)
for step in range(10**9):
    run.log_metrics({"loss": step, "lr": step * 2.0}, step=step)
    if step % 20 == 0:
        time.sleep(0.001)
    os.write(told, b"%d\\n" % step)     # acknowledged: the call has returned
"""

READER = """
import sys
from seamount.tracking.store.folder import open_store
store = open_store(sys.argv[1])
while True:
    store.refresh()
    print("pass", flush=True)
"""

STEADY_READER = "import seamount.tracking.store.ingest as i; i.PIECE_BYTES = 4096\n" + READER


def acknowledged(path: Path) -> int:
    """Number of calls that had returned when the process was killed."""
    content = path.read_text()
    lines = content[: content.rfind("\n") + 1].split()
    return int(lines[-1]) + 1


@pytest.mark.parametrize("seed", range(3))
def test_killed_trainer_and_killed_readers(store, spawn, history, tmp_path, seed):
    chance = random.Random(seed)
    told = tmp_path / "told"
    trainer = spawn(TRAINER, store.uri, "drill", str(told))
    trainer.stdout.readline()
    for _ in range(3):
        reader = spawn(STEADY_READER, store.uri)
        if chance.random() < 0.7:
            reader.stdout.readline()  # it is in the middle of its passes
        time.sleep(chance.uniform(0, 0.15))
        reader.send_signal(signal.SIGKILL)
        reader.wait()
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    count = acknowledged(told)
    assert count > 100
    fresh = open_store(store.folder)
    for name, factor in (("loss", 1.0), ("lr", 2.0)):
        points = history(fresh, "drill", name)
        assert [p.step for p in points] == list(range(len(points)))  # none twice, none missing
        assert [p.value for p in points] == [factor * p.step for p in points]
        assert count <= len(points) <= count + 1  # the last call may have ended unseen
    result = verify(fresh, "drill")
    assert (result["ok"], result["state"]) == (True, "Killed")


STOPPED = """
import signal, sys
from seamount.tracking import Run
signal.signal(signal.SIGINT, signal.default_int_handler)    # a background job ignores it
with Run(store=sys.argv[1], run_id="stopped") as run:
    run.log_metrics({"x": 1.0}, step=0)
    print("ready", flush=True)
    while True:
        run.log_metrics({"y": 1.0})
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, -signal.SIGINT)]
)
def test_a_signal_in_the_middle_of_logging_is_recorded_and_leaves_no_gap(
    store, spawn, number, code
):
    process = spawn(STOPPED, store.uri)
    process.stdout.readline()
    time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == code
    result = verify(store, "stopped")
    assert (result["state"], result["ok"], result["problems"]) == ("Interrupted", True, [])
    assert result["strands"][0]["state"] == "sealed"


FULL_DISK = """
import resource, sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="full")
for step in range(100):
    run.log_metrics({"loss": step}, step=step)
size = sum(p.stat().st_size for p in run._store.run_folder("full").glob("*.seg"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))      # room for one record and a half
for step in range(100, 200):
    run.log_metrics({"loss": step}, step=step)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
for step in range(200, 300):
    run.log_metrics({"loss": step}, step=step)
run.close()
"""


def test_a_disk_without_room_delays_records_and_loses_none(store, spawn, history):
    process = spawn(FULL_DISK, store.uri)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    assert errors.count("training goes on") == 1  # told once
    assert [p.step for p in history(store, "full", "loss")] == list(range(300))
    result = verify(store, "full")
    assert (result["ok"], result["state"]) == (True, "Completed")
