"""Deleted runs removed for good: nothing else is touched, whenever the process is killed."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import sys
from contextlib import closing

import pytest

from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.artifacts import blob_path
from seamount.tracking.points.compaction import compact_run
from seamount.tracking.store.folder import Store, open_store
from seamount.tracking.store.verify import verify
from seamount.tracking.upkeep.deletion import set_deleted
from seamount.tracking.upkeep.gc import collect

MUTATING = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "shutil.rmtree", "sqlite3.connect"}


def log(store, run_id, files, **options):
    """A run with points and files; content -> digest."""
    with Run(project="p", run_id=run_id, store=store.folder, capture=False, **options) as run:
        run.log_configs({"lr": 0.1})
        for step in range(50):
            run.log_metrics({"loss": step}, step=step)
        return run.assign_files({f"{name}.bin": name.encode() for name in files})


def in_columns(store, run_id):
    store.refresh()
    with store.index() as index:
        compact_run(index, run_id)


def mlflow_table(store):
    """A table that has the run, as MLflow's have, without the cost of MLflow."""
    with closing(sqlite3.connect(store.folder / "mlflow.db")) as db, db:
        db.execute("CREATE TABLE tags (key TEXT, run_uuid TEXT)")
        db.executemany("INSERT INTO tags VALUES ('k', ?)", [("doomed",), ("kept",)])


@pytest.fixture
def made(store):
    """A store with a run to be removed and one that shares a content with it."""
    digests = log(store, "doomed", ["own", "shared"]) | log(store, "kept", ["shared", "other"])
    with Run(run_id="kept", store=store.folder, capture=False) as run:
        run.assign_files({"other.bin": b"newer"})  # the first version has no name any more
    in_columns(store, "doomed")
    mlflow_table(store)
    for place in ("artifacts/3", "artifacts/proxied/3"):
        theirs = store.folder / place / "doomed" / "artifacts"
        theirs.mkdir(parents=True)
        (theirs / "by_mlflow.txt").write_text("x")
    set_deleted(store, "doomed", True)
    return store, digests


def check_gone(store, digests):
    """Of `doomed` nothing is left, of `kept` nothing is missing."""
    left = [p for p in store.folder.rglob("*") if "doomed" in str(p.relative_to(store.folder))]
    assert not left
    assert not blob_path(store, digests["own.bin"]).exists()
    for name in ("shared.bin", "other.bin"):
        assert blob_path(store, digests[name]).exists()
    assert verify(store, "kept")["ok"]
    with pytest.raises(UserError, match="no run 'doomed'"):
        verify(store, "doomed")
    for name in ("index.db", "mlflow.db"):
        with closing(sqlite3.connect(store.folder / name)) as db:
            assert "doomed" not in "\n".join(db.iterdump())


def test_a_deleted_run_is_removed_for_good(made):
    store, digests = made
    dry = collect(store, dry_run=True)["runs"]
    assert [(row["run_id"], row["outcome"]) for row in dry] == [("doomed", "would be removed")]
    assert verify(store, "doomed")["ok"]
    (row,) = collect(store)["runs"]
    assert (row["run_id"], row["outcome"]) == ("doomed", "removed")
    assert row["bytes"] == dry[0]["bytes"] > 0
    check_gone(store, digests)
    log(store, "doomed", ["own"])  # the name is free again
    assert verify(store, "doomed")["ok"]
    assert len(query.points(store.folder, "doomed", "loss")) == 50


def test_young_deletions_and_restored_runs_are_kept(made):
    store, _ = made
    assert collect(store, older_than_s=3600)["runs"] == []
    set_deleted(store, "doomed", False)
    assert collect(store)["runs"] == []
    assert verify(store, "doomed")["ok"]


def test_a_run_that_is_logged_is_never_touched(store):
    with Run(project="p", run_id="live", store=store.folder, capture=False) as run:
        run.log_metrics({"x": 1.0}, step=0)
        set_deleted(store, "live", True)
        assert collect(store)["runs"][0]["outcome"] == "kept: a process logs it"
        run.log_metrics({"x": 2.0}, step=1)
    assert verify(store, "live")["points"] == 2
    assert collect(store)["runs"][0]["outcome"] == "removed"


def test_a_run_resumed_in_the_middle_is_put_back(made, monkeypatch):
    from seamount.tracking.upkeep import removal

    store, _ = made
    resumed = []
    move = removal._move

    def late(source, target):
        if target.name == "segments" and not resumed:
            resumed.append(Run(run_id="doomed", store=store.folder, capture=False))
        move(source, target)

    monkeypatch.setattr(removal, "_move", late)
    assert collect(store)["runs"][0]["outcome"] == "kept: a process logs it"
    resumed[0].log_metrics({"late": 1.0}, step=0)
    resumed[0].close()
    assert verify(store, "doomed")["ok"]
    assert not (store.folder / "trash" / "doomed").exists()
    assert (store.artifact_folder("doomed") / "own.bin").read_bytes() == b"own"


def test_a_run_that_was_forked_is_kept_until_its_forks_go(store):
    log(store, "parent", [])
    log(store, "child", [], fork_run_id="parent", fork_step=20)
    set_deleted(store, "parent", True)
    assert collect(store)["runs"][0]["outcome"] == "kept: a run was forked from it"
    assert len(query.points(store.folder, "child", "loss")) == 21 + 50
    set_deleted(store, "child", True)
    rows = collect(store)["runs"]
    assert [(row["run_id"], row["outcome"]) for row in rows] == [
        ("child", "removed"),
        ("parent", "removed"),
    ]


def kill_at(step, call):
    """Run `call` in a child that kills itself before change number `step`; whether it was."""
    child = os.fork()
    if child == 0:
        left = [step]

        def count(event, _):
            if event in MUTATING:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            call()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_killed_before_each_change_it_ends_the_next_time(made, tmp_path):
    made_store, digests = made
    made_store.refresh()
    step = 0
    while True:
        folder = tmp_path / f"copy{step}"
        shutil.copytree(made_store.folder, folder)
        for blob in (folder / "blobs").rglob("*"):  # a copy has no hard links: make them again
            for name in (folder / "artifacts" / "runs").rglob("*"):
                if blob.is_file() and name.is_file() and blob.read_bytes() == name.read_bytes():
                    name.unlink()
                    os.link(blob, name)
        store = Store(folder)
        killed = kill_at(step, lambda store=store: collect(store))
        assert verify(store, "kept")["ok"]
        if store.run_folder("doomed").exists():
            assert verify(store, "doomed")["ok"]
        collect(store)
        check_gone(store, digests)
        if not killed:
            break
        step += 1
        shutil.rmtree(folder)
    assert step > 20


def test_a_content_that_a_trainer_takes_meanwhile_stays(made, monkeypatch):
    """The trainer finds the content there just before it is moved away."""
    from seamount.tracking import artifacts

    store, digests = made
    show = artifacts._show

    def late(blob, target):
        monkeypatch.setattr(artifacts, "_show", show)
        collect(store)
        show(blob, target)

    monkeypatch.setattr(artifacts, "_show", late)
    assert log(store, "third", ["own"])["own.bin"] == digests["own.bin"]
    assert verify(store, "third")["ok"]


def test_readers_beside_a_removal_go_on(store):
    for number in range(12):
        log(store, f"r{number}", [str(number)])
        set_deleted(store, f"r{number}", number % 2 == 0)
    readers = []
    for _ in range(2):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(30):
                    open_store(store.folder).refresh()
                    assert {r["run_id"] for r in query.runs(store=store.folder)} == {
                        f"r{n}" for n in range(1, 12, 2)
                    }
                os._exit(0)
            finally:
                os._exit(1)
        readers.append(child)
    collect(store)
    assert [os.waitstatus_to_exitcode(os.waitpid(r, 0)[1]) for r in readers] == [0, 0]
    store.refresh()
    with store.index() as index:
        kept = {row["id"] for n in range(1, 12, 2) for row in index.segments(f"r{n}")}
        assert {i for (i,) in index.db.execute("SELECT id FROM segments")} == kept
