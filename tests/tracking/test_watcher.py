"""The watcher: it seals what was killed, flushes, and is in nobody's way."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seamount.tracking import Run
from seamount.tracking.store import Store
from seamount.tracking.surroundings import Capture
from seamount.tracking.verify import verify
from seamount.tracking.watcher.start import lock_file

ON = {"SEAMOUNT_TRACKING_WATCHER": "on"}

TRAINER = """
import os, sys, time
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="watched")
run.log_metrics({"loss": 1.0}, step=0)
print("epoch 1 of 3")
print("loss 1.0", file=sys.stderr)
print("loading the next sh", end="", flush=True)
os.write(1, b"\\nready\\n")
step = 1
while True:
    run.log_metrics({"loss": step}, step=step)
    step += 1
    time.sleep(0.002)
"""


def watchers(store: Store) -> list[int]:
    """Pids of the watchers of this store, by their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        python = command.startswith(os.fsencode(sys.executable))  # not the shell that starts it
        if python and b"watcher.main" in command and os.fsencode(str(store.folder)) in command:
            found.append(int(folder.name))
    return found


def until(condition: Callable[[], Any], patience_s: float = 30.0) -> Any:
    """The first true answer of `condition`."""
    end = time.monotonic() + patience_s
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return answer


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


def run_row(store: Store, run_id: str = "watched") -> dict[str, Any]:
    store.refresh(run_id)
    with store.index() as index:
        return index.run(run_id)


def seen_by_watcher(store: Store) -> bool:
    """The watcher has met the trainer: it writes the first measurements in that moment."""
    return any(store.run_folder("watched").glob("w*.seg"))


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
    import sys

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
    from seamount.tracking import writer as writer_module
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


def test_a_restart_beside_a_living_watcher_is_a_new_attempt(store, ready):
    other = ready(store, TRAINER, RANK="1")
    first = ready(store, TRAINER)
    until(lambda: any(store.run_folder("watched").glob("w000000.*.seg")))  # it has met the first
    first.kill()
    first.wait()
    again = ready(store, TRAINER)
    attempts = {
        (s["rank"], s["attempt"])
        for s in verify(store, "watched")["strands"]
        if s["role"] == "main"
    }
    assert attempts == {(0, 0), (0, 1), (1, 0)}
    other.kill(), again.kill()


ACKNOWLEDGED = """
import os, sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="watched")
told = os.open(sys.argv[2], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
print("ready", flush=True)
for step in range(10**9):
    run.log_metrics({"loss": step}, step=step)
    if step % 20 == 0:
        print("step", step)
    os.write(told, b"%d\\n" % step)
"""


def test_a_newcomer_at_the_last_moment_is_not_left_alone(store):
    from seamount.tracking.watcher import main

    first = Run(store=store.uri, run_id="late", capture=False)
    folder = store.run_folder("late")
    lock = os.open(lock_file(folder), os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    watcher = main.Watcher(folder, first._writer.header.file_name, lock, [])
    watcher.step()
    first.close()
    watcher.step()
    assert not watcher._busy()
    second = Run(store=store.uri, run_id="late", capture=False)  # it saw the lock held
    assert not watcher._leave()
    other = os.open(lock_file(folder), os.O_RDWR)
    with pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    second.close()
    watcher.step()
    assert watcher._leave()
    fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)  # free
    os.close(lock), os.close(other)


def test_a_watchers_own_segment_does_not_keep_a_rank_alive(store):
    from seamount.tracking.strands import next_attempt
    from seamount.tracking.watcher import main

    run = Run(store=store.uri, run_id="own", capture=False)
    folder = store.run_folder("own")
    watcher = main.Watcher(folder, run._writer.header.file_name, -1, [])
    watcher.step()
    (strand,) = watcher._strands.values()
    strand.say({"kind": "tags", "set": {"a": "b"}})  # the watcher's segment is open and locked
    assert next_attempt(folder, 0) == 0
    run.close()
    assert next_attempt(folder, 0) == 1
    strand.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_killed_trainers_and_watchers_lose_and_double_nothing(
    store, spawn, history, tmp_path, seed
):
    import random

    chance = random.Random(seed)
    told = tmp_path / "told"
    trainer = spawn(ACKNOWLEDGED, store.uri, str(told), **ON)
    trainer.stdout.readline()
    doomed = [trainer.pid, *until(lambda: watchers(store))]
    chance.shuffle(doomed)
    for pid in doomed[: chance.randint(1, 2)]:
        time.sleep(chance.uniform(0, 0.5))
        os.kill(pid, signal.SIGKILL)
    trainer.kill()
    trainer.communicate()
    until(lambda: not watchers(store))
    lines = told.read_text()
    count = int(lines[: lines.rfind("\n")].split()[-1]) + 1
    points = history(store, "watched", "loss")
    assert [p.step for p in points] == list(range(len(points)))
    assert count <= len(points) <= count + 1
    result = verify(store, "watched")
    assert (result["state"], result["ok"]) == ("Killed", True)


CROWDED = """
import resource, sys, threading
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="full")
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
stop = threading.Event()

def chatter():
    while not stop.is_set():
        print("a line", file=sys.stderr)

threads = [threading.Thread(target=chatter) for _ in range(3)]
for thread in threads:
    thread.start()
for step in range(40):      # full and free in turn: each time a warning is printed by the writer
    size = sum(p.stat().st_size for p in run._store.run_folder("full").glob("r*.seg"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    for each in range(20):
        run.log_metrics({"loss": each}, step=step * 20 + each)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    run.log_metrics({"other": step}, step=step)
stop.set()
for thread in threads:
    thread.join()
run.close()
"""


def test_a_warning_of_the_writer_while_threads_print_does_not_lock_up(store, spawn, history):
    process = spawn(CROWDED, store.uri)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert [p.step for p in history(store, "full", "loss")] == list(range(800))
