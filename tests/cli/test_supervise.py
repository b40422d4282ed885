"""Child processes are found again, stopped by force where needed, and never outlive us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from seamount.cli import supervise

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('ready', flush=True); time.sleep(600)"
)


def wait_for(text: str, log_file: Path) -> None:
    give_up = time.monotonic() + 30
    while not (log_file.exists() and text in log_file.read_text()):
        assert time.monotonic() < give_up
        time.sleep(0.02)


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    log_file = tmp_path / "log"
    process = supervise.spawn([sys.executable, "-c", STUBBORN], log_file, os.environ)
    record = supervise.record(process.pid)
    wait_for("ready", log_file)
    assert supervise.alive(record)
    start = time.monotonic()
    supervise.stop(record, patience_s=0.3)
    assert process.wait(5) == -signal.SIGKILL and time.monotonic() - start < 5
    assert not supervise.alive(record)


def test_a_stale_record_stops_nobody(tmp_path: Path) -> None:
    process = supervise.spawn([sys.executable, "-c", STUBBORN], tmp_path / "log", os.environ)
    record = supervise.record(process.pid)
    stale = supervise.Record(record.pid, record.started - 1)
    assert not supervise.alive(stale)
    supervise.stop(stale, patience_s=0)
    assert supervise.alive(record)
    supervise.stop(record, patience_s=0)
    process.wait(5)


def test_kill_9_of_the_parent_ends_the_child(tmp_path: Path) -> None:
    log_file = tmp_path / "log"
    script = (
        "import os, pathlib, sys, time; from seamount.cli import supervise\n"
        "p = supervise.spawn([sys.executable, '-c', 'import time; time.sleep(600)'],"
        f" pathlib.Path({str(log_file)!r}), os.environ, dies_with_parent=True)\n"
        "print(p.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = supervise.record(int(parent.stdout.readline()))
    assert supervise.alive(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    give_up = time.monotonic() + 10
    while supervise.alive(child) and time.monotonic() < give_up:
        time.sleep(0.05)
    assert not supervise.alive(child)


def test_a_taken_port_is_replaced(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert supervise.free_port(port) != port
    assert supervise.free_port(port) == port
