"""Many processes, threads and forked children log one run."""

from __future__ import annotations

import json
import os
import signal

import pytest

from seamount.tracking import Run
from seamount.tracking.store.verify import verify

RANK = """
from seamount.tracking import Run
with Run() as run:
    for step in range(300):
        run.log_metrics({"loss": step}, step=step)
print(run.run_id, run.project)
"""


def test_four_ranks_started_at_once_are_one_run(store, spawn, history):
    variables = {
        "SEAMOUNT_TRACKING_URI": store.uri,
        "SEAMOUNT_RUN_ID": "job",
        "SEAMOUNT_PROJECT": "p",
        "WORLD_SIZE": "4",
    }
    ranks = [spawn(RANK, RANK=str(rank), **variables) for rank in range(4)]
    for process in ranks:
        out, errors = process.communicate(timeout=60)
        assert out.split() == ["job", "p"], errors
    for rank in range(4):
        assert [p.step for p in history(store, "job", "loss", rank)] == list(range(300))
    result = verify(store, "job")
    assert (result["state"], result["ok"], result["points"]) == ("Completed", True, 1200)
    assert sorted(s["rank"] for s in result["strands"]) == [0, 1, 2, 3]


FORKS = """
import os, sys, threading
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="forks")
stop = threading.Event()

def background():
    step = 0
    while not stop.is_set():
        run.log_metrics({"background": step}, step=step)
        step += 1
    print(step, flush=True)

thread = threading.Thread(target=background)
thread.start()
children = []
for number in range(4):
    pid = os.fork()
    if pid == 0:
        for step in range(50):
            run.log_metrics({f"child{number}": step})
        os._exit(0)
    children.append(pid)
    run.log_metrics({"parent": number}, step=number)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
stop.set()
thread.join()
run.close()
"""


@pytest.mark.parametrize("again", range(2))
def test_children_forked_while_a_thread_logs(store, spawn, history, again):
    process = spawn(FORKS, store.uri)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert [p.step for p in history(store, "forks", "background")] == list(range(int(out)))
    assert [p.step for p in history(store, "forks", "parent")] == [0, 1, 2, 3]
    for number in range(4):
        assert [p.step for p in history(store, "forks", f"child{number}")] == list(range(50))
    result = verify(store, "forks")
    assert (result["ok"], result["state"]) == (True, "Completed")
    roles = sorted(s["role"] for s in result["strands"])
    assert roles == ["fork"] * 4 + ["main"]


POOL = """
import multiprocessing, sys, time
from seamount.tracking import Run

def work(number):
    run.log_metrics({"work": number}, step=number)
    return number

if __name__ == "__main__":
    with Run(store=sys.argv[1], run_id="pool") as run:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert sorted(pool.map(work, range(20))) == list(range(20))
        context = multiprocessing.get_context("fork")
        for _ in range(50):
            child = context.Process(target=time.sleep, args=(60,), daemon=True)
            child.start()
            child.terminate()   # at any moment of its start: our handler must not keep it alive
            child.join(20)
            assert child.exitcode == -15, child.exitcode
"""


def test_a_multiprocessing_pool_and_a_terminated_child(store, spawn, history):
    process = spawn(POOL, store.uri)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert [p.step for p in history(store, "pool", "work")] == list(range(20))
    assert verify(store, "pool")["state"] == "Completed"


def test_a_run_with_a_living_process_is_running_and_joining_it_is_no_restart(store):
    first = Run(store=store.uri, run_id="shared")
    second = Run(store=store.uri, run_id="shared")
    first.log_metrics({"x": 1.0}, step=5)
    second.log_metrics({"x": 2.0}, step=0)
    first.close()
    assert verify(store, "shared")["state"] == "Running"
    second.close()
    result = verify(store, "shared")
    assert result["state"] == "Completed"
    assert {s["attempt"] for s in result["strands"]} == {0}
    with Run(store=store.uri, run_id="shared"):
        pass
    assert {s["attempt"] for s in verify(store, "shared")["strands"]} == {0, 1}


def test_a_rank_restarted_on_another_host_is_a_new_attempt(store, monkeypatch):
    from seamount.tracking import run as run_module
    from seamount.tracking.segments import strands

    monkeypatch.setattr(run_module, "host_name", lambda: "node-a")
    with Run(store=store.uri, run_id="moved"):
        pass
    monkeypatch.setattr(run_module, "host_name", lambda: "node-b")
    quick = Run(store=store.uri, run_id="moved")
    quick.close()
    for path in strands.segment_files(store.run_folder("moved")):
        os.utime(path, (0, 0))
    late = Run(store=store.uri, run_id="moved")
    late.close()
    attempts = {(s["host"], s["attempt"]) for s in verify(store, "moved")["strands"]}
    assert attempts == {("node-a", 0), ("node-b", 0), ("node-b", 1)}


UNCLOSED = """
import sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id=sys.argv[2])
run.log_metrics({"x": 1.0}, step=0)
if sys.argv[2] == "raises":
    raise RuntimeError("boom")
"""


@pytest.mark.parametrize(("run_id", "state"), [("plain", "Completed"), ("raises", "Failed")])
def test_a_run_that_is_never_closed_ends_with_its_program(store, spawn, run_id, state):
    spawn(UNCLOSED, store.uri, run_id).communicate(timeout=30)
    store.refresh()
    with store.index() as index:
        row = index.run(run_id)
    assert row["state"] == state
    if state == "Failed":
        assert json.loads(row["error"])["message"] == "boom"


def test_logging_from_a_signal_handler(store, history):
    with Run(store=store.uri) as run:
        calls = iter(range(10_000))

        def handler(*_: object) -> None:
            run.log_metrics({"handler": 1.0}, step=next(calls))

        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        try:
            for step in range(20_000):
                run.log_metrics({"loop": step}, step=step)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
    fired = next(calls)
    assert fired > 3
    assert [p.step for p in history(store, run.run_id, "loop")] == list(range(20_000))
    assert len(history(store, run.run_id, "handler")) == fired
    assert verify(store, run.run_id)["ok"]


def test_importing_the_logger_stays_light(spawn):
    heavy = ["torch", "mlflow", "prefect", "lightning", "fsspec", "sqlite3", "numpy", "pandas"]
    program = f"import sys, seamount.tracking; print([m for m in {heavy} if m in sys.modules])"
    out, errors = spawn(program).communicate(timeout=60)
    assert out.strip() == "[]", errors
