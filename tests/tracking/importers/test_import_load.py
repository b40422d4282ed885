"""How an import is placed: whole or not at all, never twice, ids mapped, mistakes told."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from event_log import write_scalars

from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.importing import ids, load
from seamount.tracking.importing.writer import ImportWriter
from seamount.tracking.store.verify import verify

START = 1_700_000_000.0


def log(folder: Path, points: int = 50, first: int = 0) -> Path:
    rows = [("loss", i / 4, i, START + i) for i in range(first, points)]
    return write_scalars(folder, rows)


def test_an_unchanged_source_is_already_there(tmp_path, store, history):
    log(tmp_path / "logs/a")
    log(tmp_path / "logs/b c")
    first = load.load(str(tmp_path / "logs"), store.folder)
    assert [row["outcome"] for row in first["runs"]] == ["imported", "imported"]
    assert first["kind"] == "tensorboard" and first["ok"]
    files = {p: p.stat().st_mtime_ns for p in store.folder.rglob("*") if p.is_file()}
    second = load.load(str(tmp_path / "logs"), store.folder)
    assert [row["outcome"] for row in second["runs"]] == ["already there"] * 2
    assert files == {p: p.stat().st_mtime_ns for p in files}
    assert history(store, "a", "loss")[-1].value == 49 / 4


def test_a_moved_source_is_the_same_source(tmp_path, store, history):
    log(tmp_path / "logs/a")
    load.load(str(tmp_path / "logs"), store.folder)
    (tmp_path / "logs").rename(tmp_path / "moved")
    for path in (tmp_path / "moved").rglob("*tfevents*"):
        os.utime(path)  # another time of change: read again, nothing new
    (row,) = load.load(str(tmp_path / "moved"), store.folder)["runs"]
    assert row["outcome"] == "already there"
    assert len(history(store, "a", "loss")) == 50


def test_a_grown_run_gets_only_what_is_new(tmp_path, store, history):
    log(tmp_path / "logs/a")
    load.load(str(tmp_path / "logs"), store.folder)
    assert len(history(store, "a", "loss")) == 50
    log(tmp_path / "logs/a", 80, first=50)
    write_scalars(tmp_path / "logs/a", [("loss", 0.0, 0, START)] * 2)  # equal points are points
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert (row["outcome"], row["counts"]["points"]) == ("updated", 32)
    found = history(store, "a", "loss")
    assert [p.step for p in found] == [0, 0, 0, *range(1, 80)]
    assert verify(store, "a")["ok"]


def test_another_log_of_the_same_name_is_another_run(tmp_path, store, history):
    log(tmp_path / "one/a")
    write_scalars(tmp_path / "two/a", [("loss", 7.0, 0, START + 5)])
    load.load(str(tmp_path / "one"), store.folder)
    (row,) = load.load(str(tmp_path / "two"), store.folder)["runs"]
    assert row["run_id"] != "a" and row["run_id"].startswith("a-")
    assert [p.value for p in history(store, row["run_id"], "loss")] == [7.0]
    assert len(history(store, "a", "loss")) == 50
    with store.index() as index:
        assert index.tags(row["run_id"])["seamount.imported_id"] == "a"


def test_a_run_of_our_own_is_never_touched(tmp_path, store, history):
    with Run(run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    log(tmp_path / "logs/a")
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert row["outcome"] == "imported" and row["run_id"] != "a"
    assert [p.value for p in history(store, "a", "loss")] == [1.0]


def test_ids_are_mapped_the_same_way_every_time():
    legal = ids.candidates("neptune_export", "p/RUN-1", "RUN-1")
    assert legal[0] == "RUN-1"
    (odd,) = ids.candidates("neptune_export", "p/x", "../../été 1")
    assert odd == ids.candidates("neptune_export", "p/x", "../../été 1")[0]
    assert odd.startswith("t-1-") and ids.is_run_id(odd)
    assert odd != ids.candidates("neptune_export", "q/x", "../../été 1")[0]


def test_a_dry_run_writes_nothing(tmp_path):
    log(tmp_path / "logs/a")
    result = load.load(str(tmp_path / "logs"), tmp_path / "none", dry_run=True)
    assert [row["outcome"] for row in result["runs"]] == ["would be imported"]
    assert result["runs"][0]["counts"]["points"] == 50
    assert not (tmp_path / "none").exists()


def test_a_changed_name_is_told_now_and_later(tmp_path, store):
    (tmp_path / "logs").mkdir()
    log(tmp_path / "logs/a\nb")
    reason = "run names that had to be changed (control character, empty or too long)"
    for how in ({"dry_run": True}, {}, {}):
        (row,) = load.load(str(tmp_path / "logs"), store.folder, **how)["runs"]
        assert [p["reason"] for p in row["problems"]] == [reason], row["outcome"]


def test_times_beyond_the_calendar_become_the_runs_start(tmp_path, store):
    """Such a run would stop every table of runs."""
    from seamount.tracking import query

    write_scalars(tmp_path / "logs/a", [("x", 1.0, 0, 1e12), ("x", 2.0, 1, START)])
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert row["outcome"] == "imported" and "times out of range" in row["problems"][0]["reason"]
    assert query.runs(store=store.uri).rows()[0]["created"].year == 1970


def test_one_import_at_a_time(tmp_path, store):
    log(tmp_path / "logs/a")
    with load._alone(store), pytest.raises(UserError, match="another import"):
        load.load(str(tmp_path / "logs"), store.folder)


def test_what_is_not_recognised_is_named(tmp_path, store):
    (tmp_path / "x").write_text("x")
    with pytest.raises(UserError, match="--from"):
        load.load(str(tmp_path / "x"), store.folder)
    with pytest.raises(UserError, match="did you mean 'tensorboard'"):
        load.load(str(tmp_path / "x"), store.folder, kind="tensorbord")


KILLS = {
    "while records are written": (ImportWriter, "write", 30),
    "before the run has its name": (load, "_place_new", 1),
    "right after it": (load, "fsync_folder", 2),
    "before a grown run's part is moved in": (load, "_place_more", 1),
    "between the part and the note": (load, "fsync_folder", 1),
}


@pytest.mark.parametrize("moment", KILLS)
def test_killed_at_any_moment_then_run_again(tmp_path, store, history, moment):
    """kill -9 of the importing process, first of a new run and then of a grown one."""
    owner, name, call = KILLS[moment]
    log(tmp_path / "logs/a")
    grown = name == "_place_more" or moment.startswith("between")
    if grown:
        load.load(str(tmp_path / "logs"), store.folder)
        log(tmp_path / "logs/a", 60, first=50)
    assert _killed_in(store, tmp_path, owner, name, call) == signal.SIGKILL
    seen = len(history(store, "a", "loss")) if (store.segments / "a").exists() else 0
    assert seen in (0, 50, 60), "half a run was to be seen"
    load.load(str(tmp_path / "logs"), store.folder)
    assert [p.step for p in history(store, "a", "loss")] == list(range(60 if grown else 50))
    assert verify(store, "a")["ok"]
    assert not list(store.segments.glob(".import-*"))
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert row["outcome"] == "already there"


def _killed_in(store, tmp_path, owner, name, call) -> int:
    """Import in a forked child that kills itself in its `call`-th call of owner.name."""
    pid = os.fork()
    if pid == 0:
        whole, calls = getattr(owner, name), []

        def dies(*arguments):
            calls.append(1)
            if len(calls) == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return whole(*arguments)

        setattr(owner, name, dies)
        load.load(str(tmp_path / "logs"), store.folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) * -1


def test_the_command(tmp_path, store, root):
    import subprocess
    import sys

    log(tmp_path / "logs/a")
    path = write_scalars(tmp_path / "logs/cut", [("x", 1.0, 0, START), ("x", 2.0, 1, START)])
    path.write_bytes(path.read_bytes()[:-3])
    endless = write_scalars(tmp_path / "logs/z\x1b[2J[/x]", [("x", 1.0, 0, float("inf"))])
    command = [sys.executable, "-m", "seamount.cli.main", "track", "import", str(tmp_path / "logs")]
    done = subprocess.run(
        [*command, "--store", store.uri, "--project", "old"],
        capture_output=True, text=True, cwd=root, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "1 of 3 runs failed; the first: " in done.stderr
    assert "2 imported" in done.stdout and "event files cut at their end" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr and "\\x1b[2J" in done.stdout
    shutil.rmtree(endless.parent)
    answer = subprocess.run(
        [*command, "--store", store.uri, "--json"],
        capture_output=True, text=True, cwd=root, check=True,
    )  # fmt: skip
    rows = json.loads(answer.stdout)["runs"]
    assert [row["outcome"] for row in rows] == ["already there", "already there"]


def test_parts_of_a_large_run_and_one_that_was_not_moved_in(tmp_path, store, history, monkeypatch):
    """An update of several parts, killed between two of them: the next import brings the rest."""
    from seamount.tracking.segments import writer

    monkeypatch.setattr(writer, "ROTATE_BYTES", 600)
    log(tmp_path / "logs/a")
    load.load(str(tmp_path / "logs"), store.folder)
    assert len(list((store.segments / "a").glob("*.seg"))) > 3
    log(tmp_path / "logs/a", 90, first=50)
    moved = []

    def rename(source, target):
        moved.extend([target] * (target.parent == store.run_folder("a")))
        if len(moved) == 3:
            raise KeyboardInterrupt
        os.replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(KeyboardInterrupt):
            load.load(str(tmp_path / "logs"), store.folder)
    assert 50 < len(history(store, "a", "loss")) < 90
    load.load(str(tmp_path / "logs"), store.folder)
    assert [p.step for p in history(store, "a", "loss")] == list(range(90))
    assert verify(store, "a")["ok"]


def test_an_imported_run_can_be_resumed(tmp_path, store, history):
    log(tmp_path / "logs/a", 10)
    load.load(str(tmp_path / "logs"), store.folder)
    with Run(run_id="a", store=store.uri) as run:
        run.log_metrics({"loss": -1.0}, step=10)
    log(tmp_path / "logs/a", 12, first=10)
    load.load(str(tmp_path / "logs"), store.folder)
    steps = [(p.step, p.value) for p in history(store, "a", "loss")]
    assert steps[10:] == [(10, -1.0)]  # the newest attempt stands from its first step on
    with store.index() as index:
        assert len(index.history("a", "loss", attempt=0)) == 12
