"""The watcher among several: restarts, newcomers, random kills, threads that print."""

from __future__ import annotations

import fcntl
import os
import signal
import time

import pytest
from watched import ON, TRAINER, until, watchers

from seamount.tracking import Run
from seamount.tracking.store.verify import verify
from seamount.tracking.watcher.start import lock_file


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
    from seamount.tracking.segments.strands import next_attempt
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
