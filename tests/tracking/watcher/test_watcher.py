"""The watcher: it seals what was killed, flushes, and is in nobody's way."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

from watched import ON, TRAINER, run_row, seen_by_watcher, until, watchers

from seamount.tracking import Run
from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.store.verify import verify
from seamount.tracking.watcher.start import lock_file


def test_kill_of_the_trainer_alone_is_recorded_with_time_signal_and_last_lines(store, ready):
    trainer = ready(store)
    until(lambda: seen_by_watcher(store))
    before_us = time.time_ns() // 1000
    trainer.kill()
    trainer.wait()
    after_us = time.time_ns() // 1000
    until(lambda: not watchers(store))  # it leaves by itself
    row = run_row(store)
    error = json.loads(row["error"])
    assert row["state"] == "Killed"
    assert before_us - 1000 <= row["ended_us"] <= after_us + 300_000  # at most a pass later
    assert error["last_words"] == ["epoch 1 of 3", "loss 1.0", "loading the next sh"]
    # The kernel tells the signal of others' children since 6.15, and before only while a zombie.
    assert error.get("signal", 9) == 9
    assert "signal 9 (SIGKILL)" in error["message"] or "not known" in error["message"]
    assert verify(store, "watched")["ok"]


def test_an_exit_without_a_word_tells_its_code_if_the_kernel_does(store, ready):
    program = TRAINER.split("step = 1")[0] + "time.sleep(1); os._exit(7)"
    assert ready(store, program).wait(timeout=20) == 7
    until(lambda: not watchers(store))
    error = json.loads(run_row(store)["error"])
    assert error.get("exit_code", 7) == 7
    assert run_row(store)["state"] == "Killed"


def test_kill_of_the_whole_tree_is_told_by_the_next_reader(store, ready):
    trainer = ready(store)
    (watcher,) = watchers(store)
    os.kill(watcher, signal.SIGSTOP)  # both at once, as far as the watcher can tell
    trainer.kill()
    os.kill(watcher, signal.SIGKILL)
    trainer.wait()
    result = verify(store, "watched")
    assert (result["state"], result["ok"]) == ("Killed", True)
    assert run_row(store)["error"] is None


def test_a_killed_watcher_is_no_loss_and_the_next_run_brings_another(store, ready, history):
    trainer = ready(store)
    (watcher,) = watchers(store)
    os.kill(watcher, signal.SIGKILL)
    until(lambda: not watchers(store))
    count = len(history(store, "watched", "loss"))
    until(lambda: len(history(store, "watched", "loss")) > count + 20)  # training goes on
    assert trainer.poll() is None
    second = ready(store, TRAINER.replace("loss", "second"))
    (new,) = watchers(store)
    assert new != watcher
    trainer.kill()
    second.kill()
    trainer.wait(), second.wait()
    until(lambda: not watchers(store))
    points = history(store, "watched", "loss")
    assert [p.step for p in points] == list(range(len(points)))
    assert verify(store, "watched")["ok"]


RANK = """
import sys, time
from seamount.tracking import Run
with Run(store=sys.argv[1], run_id="watched") as run:
    print("ready", flush=True)
    sys.stdin.read()
    run.log_metrics({"loss": 1.0}, step=0)
"""


def test_eight_processes_of_one_run_have_one_watcher_and_it_leaves_with_the_last(store, root):
    import subprocess

    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, store.uri],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,
            env={**os.environ, **ON, "RANK": str(rank), "WORLD_SIZE": "8"},
        )
        for rank in range(8)
    ]
    for process in ranks:
        assert process.stdout.readline() == b"ready\n"
    until(lambda: watchers(store))
    time.sleep(0.5)
    assert len(watchers(store)) == 1
    for process in ranks[1:]:
        process.communicate(timeout=30)
    time.sleep(0.5)
    assert len(watchers(store)) == 1  # one of eight still lives
    ranks[0].communicate(timeout=30)
    until(lambda: not watchers(store))
    result = verify(store, "watched")
    assert (result["state"], result["ok"]) == ("Completed", True)
    assert sorted({s["rank"] for s in result["strands"]}) == list(range(8))


def test_the_trainer_gets_no_child_and_no_pipe_is_held_open(store, spawn):
    program = """
import os, sys, time
from seamount.tracking import Run
reader, writer = os.pipe()
os.set_inheritable(writer, True)
run = Run(store=sys.argv[1], run_id="watched")
time.sleep(1)
os.close(writer)
assert os.read(reader, 1) == b""    # nobody else holds the other end
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no child")
pid = os.fork()
if pid == 0:
    run.log_metrics({"child": 1.0}, step=0)
    os._exit(0)
os.waitpid(pid, 0)
run.close()
time.sleep(30)
"""
    process = spawn(program, store.uri, **ON)
    assert process.stdout.readline() == "no child\n"
    until(lambda: not watchers(store))  # the run is closed; the process lives on
    process.kill()
    process.communicate(timeout=5)  # ends only if nobody else holds its stdout
    result = verify(store, "watched")
    assert (result["state"], result["ok"]) == ("Completed", True)
    assert sorted(s["role"] for s in result["strands"]) == ["fork", "main", "watch"]


def test_a_watcher_minds_its_own_host_only(store, monkeypatch):
    from seamount.tracking import run as run_module
    from seamount.tracking.watcher import main

    monkeypatch.setattr(run_module, "host_name", lambda: "node-b")
    there = Run(store=store.uri, run_id="two", capture=False)
    monkeypatch.setattr(run_module, "host_name", lambda: "node-a")
    here = Run(store=store.uri, run_id="two", rank=1, capture=False)
    monkeypatch.setattr(main, "host_name", lambda: "node-a")
    folder = store.run_folder("two")
    watcher = main.Watcher(folder, here._writer.header.file_name, -1, [])
    watcher.step()
    assert [s.header.rank for s in watcher._strands.values()] == [1]
    assert lock_file(folder).name == f"watcher.{os.uname().nodename}.lock"
    here.close()
    watcher.step()
    assert not watcher._strands
    there.close()


def test_every_change_is_flushed_once_and_idle_files_are_left_alone(store, monkeypatch):
    from seamount.tracking.watcher import main
    from seamount.tracking.watcher import strand as strand_module

    flushed: list[tuple[int, int]] = []
    real = os.fdatasync

    def counted(fd: int) -> None:
        real(fd)
        flushed.append((os.fstat(fd).st_ino, os.fstat(fd).st_size))

    monkeypatch.setattr(strand_module.os, "fdatasync", counted)
    run = Run(store=store.uri, run_id="flush", capture=False)
    name = run._writer.header.file_name
    found = os.stat(store.run_folder("flush") / name)
    watcher = main.Watcher(store.run_folder("flush"), name, -1, [])
    for _ in range(3):
        watcher.step()
    assert flushed == [(found.st_ino, found.st_size)]
    run.log_metrics({"loss": 1.0}, step=0)
    run.log_metrics({"loss": 1.0}, step=1)
    watcher.step()
    watcher.step()
    assert flushed[1:] == [(found.st_ino, os.stat(store.run_folder("flush") / name).st_size)]
    run.close()


def test_a_rotated_segment_is_followed_to_its_next_part(store, monkeypatch):
    from seamount.tracking.segments import writer as writer_module
    from seamount.tracking.watcher import main

    monkeypatch.setattr(writer_module, "ROTATE_BYTES", 1 << 12)
    run = Run(store=store.uri, run_id="parts", capture=False)
    watcher = main.Watcher(store.run_folder("parts"), run._writer.header.file_name, -1, [])
    for step in range(500):
        run.log_metrics({"loss": step}, step=step)
        if step % 50 == 0:
            watcher.step()
    watcher.step()
    assert [s.header.part for s in watcher._strands.values()] == [run._writer.header.part]
    assert run._writer.header.part > 3
    run.close()
    watcher.step()
    assert not watcher._strands


def test_a_watcher_that_cannot_start_is_told_once_and_training_goes_on(
    store, monkeypatch, caplog, history
):
    from seamount.tracking.watcher import start

    def refuse(*_: Any, **__: Any) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(start.os, "posix_spawn", refuse)
    with Run(store=store.uri, run_id="alone", capture=Capture(watcher=True)) as run:
        until(lambda: caplog.records)
        run.log_metrics({"loss": 1.0}, step=0)
    assert [r.getMessage() for r in caplog.records if "no watcher" in r.getMessage()] != []
    assert len(caplog.records) == 1
    assert len(history(store, "alone", "loss")) == 1
