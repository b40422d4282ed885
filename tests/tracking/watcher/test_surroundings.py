"""System metrics beside psutil, source state beside git, and exceptions that nobody caught."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.logging_handler import RunHandler
from seamount.tracking.segments.codec import Header
from seamount.tracking.store import series
from seamount.tracking.store.verify import verify
from seamount.tracking.watcher import command, processes, source
from seamount.tracking.watcher.system_metrics import HostMeter, ProcessMeter

EXCEPTIONS_ONLY = Capture(watcher=False, console=False)


def test_a_process_is_measured_as_psutil_measures_it():
    meter, peer = ProcessMeter(os.getpid()), psutil.Process()
    first = meter.read()
    rss = peer.memory_info().rss / 1e6
    assert first["system/process_memory_megabytes"] == pytest.approx(rss, rel=0.05)
    assert first["system/process_threads"] == peer.num_threads()
    assert "system/process_cpu_percentage" not in first  # a rate needs two readings
    before, began = sum(peer.cpu_times()[:2]), time.monotonic()
    while sum(peer.cpu_times()[:2]) - before < 0.3:
        sum(range(10_000))
    spent, took = sum(peer.cpu_times()[:2]) - before, time.monotonic() - began
    measured = meter.read()["system/process_cpu_percentage"]
    assert measured == pytest.approx(100 * spent / took, rel=0.35)
    io = peer.io_counters()
    assert meter.read()["system/process_disk_write_megabytes"] == pytest.approx(
        io.write_bytes / 1e6, abs=0.1
    )


def test_a_process_that_is_gone_has_no_measurements():
    process = subprocess.Popen(["true"])
    process.wait()
    assert ProcessMeter(process.pid).read() == {}


def test_the_machine_is_measured_as_psutil_measures_it(tmp_path):
    meter = HostMeter(tmp_path)
    first = meter.read()
    memory, disk = psutil.virtual_memory(), psutil.disk_usage(str(tmp_path))
    used = (memory.total - memory.available) / 1e6
    assert first["system/system_memory_usage_megabytes"] == pytest.approx(used, rel=0.2)
    assert first["system/disk_usage_percentage"] == pytest.approx(disk.percent, abs=1)
    assert first["system/disk_usage_megabytes"] == pytest.approx(disk.used / 1e6, rel=0.02)
    assert first["system/network_receive_megabytes"] == 0.0
    before = psutil.cpu_times()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        sum(range(10_000))
    second, after = meter.read(), psutil.cpu_times()
    idle = after.idle + after.iowait - before.idle - before.iowait
    total = sum(after[:8]) - sum(before[:8])
    share = 100 * (1 - idle / total)
    assert second["system/cpu_utilization_percentage"] == pytest.approx(share, abs=15)
    from seamount.tracking.watcher import system_metrics

    net = psutil.net_io_counters()
    traffic = system_metrics._network()
    assert traffic["network_receive_megabytes"] == pytest.approx(net.bytes_recv / 1e6, rel=0.05)
    disks = psutil.disk_io_counters(perdisk=True)
    whole = sum(d.write_bytes for n, d in disks.items() if Path("/sys/block", n).exists())
    assert system_metrics._disk_traffic()["disk_write_megabytes"] == pytest.approx(
        whole / 1e6, rel=0.05
    )


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def described(store: Any, folder: Path, **how: Any) -> tuple[dict[str, str], dict[str, Any]]:
    header = Header("one", "node-a", 0, 1, 1, "watch", 0, 0, 0, 0, "00")
    store.claim("one", None, None)
    wanted = {"folder": str(folder), "command": ["python", "train.py"], "entry_point": "train.py"}
    tags, files = source.events(store, header, wanted | how, [str(folder)])
    return tags["set"], files["files"]


def test_the_source_is_what_git_says(store, tmp_path):
    repository = tmp_path / "code"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "trunk")
    (repository / "train.py").write_text("lr = 1\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "first")
    assert described(store, repository)[0]["source_code/dirty"] == "false"
    (repository / "train.py").write_text("lr = 2\n")
    (repository / "new.py").write_text("")
    (repository / "numpy-9.9.dist-info").mkdir()
    tags, files = described(store, repository)
    assert tags["source_code/commit"] == git(repository, "rev-parse", "HEAD")
    assert tags["mlflow.source.git.commit"] == tags["source_code/commit"]
    assert (tags["source_code/branch"], tags["source_code/dirty"]) == ("trunk", "true")
    assert tags["source_code/packages_sha256"] == hashlib.sha256(b"numpy-9.9").hexdigest()
    shown = store.artifact_folder("one")
    state = json.loads((shown / "source_code/state.json").read_text())
    assert (state["git"]["untracked"], state["packages"]) == (["new.py"], ["numpy-9.9"])
    (repository / "train.py").write_text("lr = 1\n")
    subprocess.run(["git", "apply", shown / "source_code/diff.patch"], cwd=repository, check=True)
    assert (repository / "train.py").read_text() == "lr = 2\n"  # the patch gives the state back
    assert "source_code/diff.patch" in files
    assert "source_code/diff.patch" not in described(store, repository, diff=False)[1]


def test_outside_a_repository_there_is_no_commit(store, tmp_path):
    tags, files = described(store, tmp_path)
    assert "source_code/commit" not in tags
    assert set(files) == {"source_code/state.json"}


def test_secrets_of_the_command_and_the_environment_are_not_kept(store, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SERVICE", "tell-nobody")
    given = ["train.py", "--api-key", "s3cr3t", "--hf_token=s3cr3t", "password=s3cr3t", "--lr", "1"]
    kept = command.masked(given)
    assert kept == ["train.py", "--api-key", "***", "--hf_token=***", "password=***", "--lr", "1"]
    described(store, tmp_path, command=kept)
    for path in store.folder.rglob("*"):
        if path.is_file():
            assert b"tell-nobody" not in path.read_bytes()


def test_the_watcher_writes_metrics_and_source_of_each_rank(store, spawn):
    program = """
import sys, time
from seamount.tracking import Run
from seamount.tracking.store import series
from seamount.tracking.capture.surroundings import Capture
with Run(store=sys.argv[1], run_id="job", capture=Capture(system_s=0.2)) as run:
    time.sleep(2.5)
"""
    ranks = [
        spawn(program, store.uri, RANK=str(r), SEAMOUNT_TRACKING_WATCHER="on") for r in range(2)
    ]
    for process in ranks:
        process.communicate(timeout=60)

    def sealed() -> bool:
        strands = verify(store, "job")["strands"]
        own = [s for s in strands if s["role"] == "watch"]
        return len(own) == 2 and all(s["state"] == "sealed" for s in own)

    end = time.monotonic() + 30
    while not sealed():
        assert time.monotonic() < end
        time.sleep(0.1)
    with store.index() as index:
        names = {(s.name, s.rank) for s in index.summaries("job")}
        tags = index.tags("job")
        cpu = index.history("job", "system/process_cpu_percentage", 1)
    for rank in range(2):
        assert ("system/process_memory_megabytes", rank) in names
    assert ("system/cpu_utilization_percentage", 0) in names
    assert len(cpu) >= 2
    assert all(-1 <= p.value < 100 * (os.cpu_count() or 1) + 50 for p in cpu)
    assert len(tags["source_code/commit"]) == 40


def test_uncaught_exceptions_are_logged_when_they_are_raised(store, spawn):
    program = """
import os, sys, threading
from seamount.tracking import Run
from seamount.tracking.store import series
run = Run(store=sys.argv[1], run_id="raised")
def work():
    raise ValueError("in a thread")
thread = threading.Thread(target=work)
thread.start()
thread.join()
import atexit
atexit.register(lambda: os.kill(os.getpid(), 9))      # the exit never comes to its end
raise RuntimeError("in the main thread")
"""
    process = spawn(program, store.uri)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == -9
    assert "in a thread" in errors  # the earlier hooks still speak
    assert "in the main thread" in errors
    verify(store, "raised")
    with store.index() as index:
        texts = [text for _, text in series.strings(index, "raised", "runtime/exceptions")]
    assert [t.strip().splitlines()[-1] for t in texts] == [
        "ValueError: in a thread",
        "RuntimeError: in the main thread",
    ]


def test_hooks_are_given_back(store):
    import sys

    before = sys.excepthook, threading.excepthook
    with Run(store=store.uri, capture=EXCEPTIONS_ONLY):
        assert sys.excepthook != before[0]
    assert (sys.excepthook, threading.excepthook) == before


def test_log_records_become_a_series(store):
    logger = logging.getLogger("some.trainer")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    with Run(store=store.uri, run_id="logged", capture=False) as run:
        handler = RunHandler(run)
        handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
        logger.addHandler(handler)
        logger.info("epoch %d", 1)
        logger.error("bad \udcff name")
        logging.getLogger("seamount.tracking").warning("not this one")
        logger.removeHandler(handler)
    verify(store, "logged")
    with store.index() as index:
        found = series.strings(index, "logged", "runtime/log")
    assert found == [(0, "INFO epoch 1"), (1, "ERROR bad \\udcff name")]


def test_bad_options_are_refused():
    with pytest.raises(UserError, match="console"):
        Capture(console="loud")
    with pytest.raises(UserError, match="system_s"):
        Capture(system_s=float("nan"))


@pytest.mark.parametrize(
    ("code", "words"), [("import os; os.kill(os.getpid(), 11)", "SIGSEGV"), ("exit(3)", "code 3")]
)
def test_the_status_of_a_zombie_is_read(code, words):
    import sys

    process = subprocess.Popen([sys.executable, "-c", code])
    pidfd = processes.open_pidfd(process.pid)
    os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT)
    assert words in processes.explain(processes.wait_status(pidfd, process.pid))
    process.wait()
    after = processes.wait_status(pidfd, process.pid)  # told since Linux 6.15
    assert after is None or words in processes.explain(after)
    os.close(pidfd)
