"""Delivery by the watcher beside a trainer: servers that hang, are away, die and come back."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys

import pytest
from servers import BadNetwork, our_server, same_segments, store_of
from watched import ON, until, watchers

from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.delivery import state as states
from seamount.tracking.delivery.address import parse
from seamount.tracking.delivery.sync import sync
from seamount.tracking.store.verify import verify
from seamount.tracking.watcher.main import Watcher
from seamount.tracking.watcher.start import lock_file

TRAINER = """
import os, sys, time
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="watched", deliver_to=sys.argv[2], capture=None)
run.assign_files({"weights": os.urandom(300_000)})
print("ready", flush=True)
step = 0
while not os.path.exists(sys.argv[3]):
    run.log_metrics({"loss": step / 7}, step=step)
    step += 1
    time.sleep(0.001)
run.close()
print(step, flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(server, its store)"""
    folder = tmp_path_factory.mktemp("ours")
    started = our_server(folder).start()
    yield started, store_of(folder)
    started.kill()


def delivered(store, url, run_id="watched"):
    """What the state file says, once there is one."""
    return states.load(states.state_file(store, parse(url), run_id))


def test_what_is_logged_is_at_the_server_while_it_is_logged_and_all_at_the_end(
    server, store, spawn, tmp_path
):
    there, theirs = server
    trainer = spawn(TRAINER, store.uri, there.url, str(tmp_path / "stop"), **ON)
    trainer.stdout.readline()
    until(lambda: delivered(store, there.url).sent.get("points", 0) > 100)
    assert verify(theirs, "watched")["state"] == "Running"
    (tmp_path / "stop").touch()
    steps = int(trainer.stdout.readline())
    until(lambda: not watchers(store))
    same_segments(store, theirs, "watched")
    found = verify(theirs, "watched")
    assert (found["state"], found["ok"]) == ("Completed", True)
    assert found["points"] >= steps
    (row,) = sync(store, [], there.url)["runs"]
    assert (row["outcome"], row["sent"]) == ("nothing new", {})


def test_a_run_that_closed_before_the_watchers_first_pass_is_delivered(store, server, monkeypatch):
    there, theirs = server
    monkeypatch.setenv("SEAMOUNT_TRACKING_WATCHER", "on")
    monkeypatch.setattr("seamount.tracking.watcher.start._spawn", lambda *_: None)  # it is slow
    with Run(store=store.uri, run_id="brief", deliver_to=there.url, capture=None) as run:
        run.log_metrics({"loss": 0.5}, step=0)
    folder = store.run_folder("brief")
    (segment,) = folder.glob("r*.seg")
    lock = os.open(lock_file(folder), os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    Watcher(folder, segment.name, lock, sys.path).run()
    os.close(lock)
    same_segments(store, theirs, "brief")
    assert verify(theirs, "brief")["points"] == 1


def test_a_killed_trainer_is_killed_there_with_its_last_words(store, server, spawn, tmp_path):
    there, theirs = server
    program = TRAINER.replace('"watched"', '"killed"').replace('"ready"', '"ready", "last words"')
    trainer = spawn(program, store.uri, there.url, str(tmp_path / "stop"), **ON)
    trainer.stdout.readline()
    until(lambda: delivered(store, there.url, "killed").sent.get("points", 0) > 10)
    trainer.kill()
    trainer.wait()
    until(lambda: not watchers(store))
    theirs.refresh("killed")
    with theirs.index() as index:
        row = index.run("killed")
    assert row["state"] == "Killed"
    assert "ready last words" in json.loads(row["error"])["last_words"]
    same_segments(store, theirs, "killed")


def test_a_killed_watcher_loses_nothing(store, server, spawn, tmp_path):
    import os

    there, theirs = server
    program = TRAINER.replace('"watched"', '"orphan"')
    trainer = spawn(program, store.uri, there.url, str(tmp_path / "stop"), **ON)
    trainer.stdout.readline()
    until(lambda: delivered(store, there.url, "orphan").sent.get("points", 0) > 10)
    for pid in watchers(store):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not watchers(store))
    (tmp_path / "stop").touch()
    assert trainer.wait(timeout=30) == 0
    (row,) = sync(store, [], there.url)["runs"]
    assert row["outcome"] == "delivered"
    same_segments(store, theirs, "orphan")


def test_training_goes_on_while_the_server_hangs(store, spawn, server, tmp_path):
    there, theirs = server
    bad = BadNetwork(there.port)
    bad.hangs = True
    program = TRAINER.replace('"watched"', '"hangs"')
    trainer = spawn(program, store.uri, bad.url, str(tmp_path / "stop"), **ON)
    trainer.stdout.readline()
    size = sum(p.stat().st_size for p in store.run_folder("hangs").glob("*.seg"))
    until(
        lambda: sum(p.stat().st_size for p in store.run_folder("hangs").glob("*.seg")) > size + 9000
    )
    (tmp_path / "stop").touch()
    assert int(trainer.stdout.readline()) > 100  # it has logged and closed, and nothing is there
    assert trainer.wait(timeout=30) == 0
    assert not (theirs.segments / "hangs").exists()
    bad.hangs = False
    until(lambda: not watchers(store), 90)
    same_segments(store, theirs, "hangs")
    bad.close()


def test_the_user_is_told_once_that_it_is_away_and_once_that_it_is_back(
    store, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("SEAMOUNT_TRACKING_WATCHER", "on")
    monkeypatch.setattr("seamount.tracking.delivery.notices.LOOK_S", 0.05)
    there = our_server(tmp_path / "later")
    monkeypatch.setenv("SEAMOUNT_TRACKING_DELIVER_TO", there.url)
    caplog.set_level(logging.WARNING, "seamount.tracking")
    with Run(store=store.uri, run_id="told") as run:
        run.log_metrics({"x": 1.0}, step=0)
        until(lambda: caplog.messages)
        run.log_metrics({"x": 2.0}, step=1)
        assert not run.wait_delivered(0.5)
        there.start()
        assert run.wait_delivered(60)
        until(lambda: len(caplog.messages) > 1)
    assert run.wait_delivered(60)
    until(lambda: not watchers(store))
    there.kill()
    first, second = caplog.messages
    assert "cannot be reached" in first
    assert "training goes on" in first
    assert "nothing is lost" in second
    same_segments(store, store_of(tmp_path / "later"), "told")


def test_without_a_watcher_the_user_is_told_what_to_do(store, caplog):
    with Run(store=store.uri, run_id="alone", deliver_to="http://127.0.0.1:9") as run:
        run.log_metrics({"x": 1.0}, step=0)
    (text,) = caplog.messages
    assert "seamount track sync alone --to http://127.0.0.1:9" in text


def test_a_wrong_address_is_refused_before_anything_is_logged(store):
    with pytest.raises(UserError):
        Run(store=store.uri, run_id="wrong", deliver_to="tracker:5000")
    assert not store.run_ids()


def cli(root, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "seamount.cli.main", "track", *arguments],
        capture_output=True, text=True, cwd=root, check=False,
    )  # fmt: skip


def test_the_command_tells_what_was_sent_and_what_is_left(server, store, root):
    there, theirs = server
    with Run(store=store.uri, run_id="cli") as run:
        for step in range(10):
            run.log_metrics({"x": 1.0}, step=step)
        run.assign_files({"f": b"1"})
    away = cli(root, "sync", "--store", store.uri, "--to", "http://127.0.0.1:9", "--patience", "0")
    assert away.returncode == 1
    assert "10 points, 1 files left" in away.stdout
    assert "1 of 1 runs are not all there" in away.stderr
    done = cli(root, "sync", "cli", "--store", store.uri, "--to", there.url, "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["runs"]
    assert (row["sent"]["points"], row["sent"]["files"], row["left"]["bytes"]) == (10, 1, 0)
    again = cli(root, "sync", "--store", store.uri, "--to", there.url)
    assert (again.returncode, "nothing new   sent nothing" in again.stdout) == (0, True)
    same_segments(store, theirs, "cli")
    assert cli(root, "sync", "--store", store.uri).returncode == 2
    assert cli(root, "sync", "none", "--store", store.uri, "--to", there.url).returncode == 2


def test_another_address_demands_a_token(store, root):
    refused = cli(root, "ui", "--store", store.uri, "--host", "0.0.0.0")
    assert refused.returncode == 2
    assert "SEAMOUNT_TRACKING_TOKEN" in refused.stderr
