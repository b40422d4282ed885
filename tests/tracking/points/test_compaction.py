"""Compaction loses and doubles nothing: killed at every step, raced, its files taken away."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from segment_reader import shown

from seamount.core import locks
from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.points import compaction, history
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store import ingest
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

# Small pieces and eager merging, so that every step of the protocol happens within moments.
SMALL = """
from seamount.tracking.points import compaction
compaction.TAIL_BYTES = compaction.ENDED_TAIL_BYTES = 0
compaction.PIECE_BYTES = 6000
compaction.MERGED_PARTS = 3
"""


@pytest.fixture
def small(monkeypatch):
    """The same in this process."""
    monkeypatch.setattr(compaction, "TAIL_BYTES", 0)
    monkeypatch.setattr(compaction, "ENDED_TAIL_BYTES", 0)
    monkeypatch.setattr(compaction, "PIECE_BYTES", 6000)
    monkeypatch.setattr(compaction, "MERGED_PARTS", 3)


def log_points(store, count: int = 300, run_id: str = "r") -> None:
    with Run(store=store.uri, run_id=run_id) as run:
        for step in range(count):
            run.log_metrics({"a": step * 0.5, "b": float(-step)}, step=step)


def parts_of(store, run_id: str = "r") -> list[str]:
    with store.index() as index:
        query = "SELECT file FROM parts WHERE run_id = ?"
        return sorted(file for (file,) in index.db.execute(query, (run_id,)))


def files_of(store, run_id: str = "r") -> list[str]:
    return sorted(path.name for path in (store.folder / "points" / run_id).glob("[!.]*"))


def compact(store) -> None:
    """As `seamount track compact` does; what dead ones left is removed on the way."""
    with store.index() as index:
        assert compaction.compact_run(index, "r")


def check_whole(store, run_id: str = "r") -> None:
    """Points are those of the segments, and no file is there that the list does not name."""
    right = shown(store.run_folder(run_id))
    with store.index() as index:
        for (name, rank), points in right.items():
            found = index.history(run_id, name, rank)
            assert [(p.step, p.value, p.time_us) for p in found] == points
    result = verify(store, run_id)
    assert (result["ok"], result["problems"]) == (True, [])


CRASHER = (
    SMALL
    + """
import os, signal, sys
from pathlib import Path
from seamount.tracking.points import parts
from seamount.tracking.store.folder import open_store

where, when, turn = sys.argv[2], sys.argv[3], int(sys.argv[4])
module = parts if where == "write_part" else compaction
real, turns = getattr(module, where), 0

def dying(*arguments):
    global turns
    turns += 1
    if turns == turn and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*arguments)
    if turns == turn and when == "after":
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(module, where, dying)
store = open_store(sys.argv[1])
while True:
    store.refresh()
"""
)

# What is between two steps: nothing written; a temporary file; offsets claimed; named but not
# listed; listed with its sources still there; sources removed.
PLACES = [
    ("write_part", "before"),
    ("write_part", "after"),
    ("_claim", "after"),
    ("fsync_folder", "before"),
    ("fsync_folder", "after"),
    ("discard", "before"),
    ("discard", "after"),
]


@pytest.mark.parametrize(("where", "when"), PLACES)
@pytest.mark.parametrize("turn", [1, 4])  # the first part, and a merge of three
def test_a_compactor_killed_at_any_step_changes_nothing(store, small, where, when, turn):
    log_points(store)
    command = [sys.executable, "-c", CRASHER, store.uri, where, when, str(turn)]
    died = subprocess.run(command, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL
    check_whole(store)  # what a reader finds that compacts again
    compact(store)
    assert files_of(store) == parts_of(store)
    log_points(store, 350)
    store.refresh()
    check_whole(store)


def test_turn_four_is_a_merge(store, small, monkeypatch):
    """What the drill above relies on."""
    replaced = []
    real = compaction._publish
    monkeypatch.setattr(compaction, "_publish", lambda *a: (replaced.append(len(a[6])), real(*a)))
    log_points(store)
    store.refresh()
    assert replaced == [0, 0, 0, 3]


COMPACTOR = SMALL + """
import sys
from seamount.tracking.store.folder import open_store
store = open_store(sys.argv[1])
while True:
    store.refresh()
    print("pass", flush=True)
"""  # fmt: skip

TRAINER = """
import sys, time
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="r")
print("ready", flush=True)
for step in range(10**9):
    run.log_metrics({"a": step, "b": step * 2.0}, step=step)
    if step % 5 == 0:
        time.sleep(0.002)
"""


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 2, 3))]
)
def test_random_kills_of_compactors_beside_a_trainer_and_readers(store, spawn, small, seed):
    chance = random.Random(seed)
    trainer = spawn(TRAINER, store.uri)
    trainer.stdout.readline()
    for _ in range(4):
        compactors = [spawn(COMPACTOR, store.uri) for _ in range(2)]
        compactors[0].stdout.readline()
        until = time.monotonic() + chance.uniform(0.05, 0.4)
        while time.monotonic() < until:
            with store.index() as index:  # whatever the others do, no step twice and none left out
                steps = [p.step for p in index.history("r", "a")]
            assert steps == list(range(len(steps)))
        for process in compactors:
            process.send_signal(signal.SIGKILL)
            process.wait()
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    store.refresh()
    check_whole(store)
    compact(store)
    assert files_of(store) == parts_of(store)


def test_a_part_merged_away_under_a_reader_makes_it_read_again(store, small, monkeypatch):
    log_points(store)
    monkeypatch.setattr(compaction, "MERGED_PARTS", 100)
    store.refresh()
    assert len(parts_of(store)) >= 3
    from seamount.tracking.points import parts

    real, seen = parts.read_part, []

    def slow(path, *arguments):
        if not seen:
            seen.append(path)
            monkeypatch.setattr(compaction, "MERGED_PARTS", 3)
            with store.index() as other:
                compaction.compact_run(other, "r")
        return real(path, *arguments)

    monkeypatch.setattr(parts, "read_part", slow)
    with store.index() as index:
        assert len(index.history("r", "a")) == 300
    assert not seen[0].exists()


@pytest.mark.parametrize("harm", ["remove", "cut", "overwrite"])
def test_a_lost_or_damaged_part_is_made_anew(store, small, harm, caplog):
    log_points(store)
    store.refresh()
    victim = store.folder / "points" / "r" / parts_of(store)[0]
    if harm == "remove":
        victim.unlink()
    else:
        content = victim.read_bytes()
        victim.write_bytes(content[:-9] if harm == "cut" else b"x" * len(content))
    with store.index() as index:
        assert len(index.history("r", "a")) == 300
    assert "anew from its segments" in caplog.text
    check_whole(store)


def test_two_compactors_at_once_and_one_overtaken(store, small, monkeypatch):
    log_points(store)
    ingest_only(store)
    real = compaction._claim

    def late(index, *arguments):
        monkeypatch.setattr(compaction, "_claim", real)
        real(index, *arguments)
        raise compaction.Overtaken

    monkeypatch.setattr(compaction, "_claim", late)
    with store.index() as index:
        assert not compaction.compact_run(index, "r")
    assert (parts_of(store), files_of(store)) == ([], [])
    with store.index() as index, locks.held(store.folder / "points" / "r" / ".lock"):
        assert not compaction.compact_run(index, "r")
    store.refresh()
    check_whole(store)
    assert parts_of(store)


def ingest_only(store) -> None:
    with store.index() as index:
        ingest.ingest(store, index)


def test_a_move_that_another_process_made_rolls_back(store, small):
    log_points(store)
    ingest_only(store)
    with store.index() as index:
        moves = [compaction.Move(1, -5, 10)]
        folder = store.folder / "points" / "r"
        folder.mkdir(parents=True)
        from seamount.tracking.points.columns import nothing

        with pytest.raises(compaction.Overtaken):
            compaction._publish(index, "r", folder, nothing(), {}, moves, [])
        assert index.segments("r")[0]["compacted"] == index.segments("r")[0]["first"]


def test_small_ended_runs_and_short_tails_stay_in_their_segments(store):
    log_points(store)
    store.refresh()
    assert parts_of(store) == []
    with store.index() as index:
        assert compaction.compact_run(index, "r")
    assert len(parts_of(store)) == 1
    check_whole(store)


def test_a_long_tail_is_compacted_while_the_run_goes_on(store):
    with Run(store=store.uri, run_id="r") as run:
        names = [f"m{number}" for number in range(1000)]
        for step in range(150):
            run.log_metrics(dict.fromkeys(names, 1.0), step=step)
        store.refresh()
        assert len(parts_of(store)) == 1
        run.log_metrics({"m0": 2.0}, step=150)
        store.refresh()
        assert len(parts_of(store)) == 1
        with store.index() as index:
            assert len(index.history("r", "m0")) == 151


def test_a_full_disk_stops_compaction_and_no_reader(store, small, monkeypatch, caplog):
    from seamount.tracking.points import parts

    def full(*_):
        raise OSError(28, "No space left on device")

    log_points(store)
    monkeypatch.setattr(parts, "write_part", full)
    store.refresh()
    assert "No space left on device" in caplog.text
    with store.index() as index:
        assert len(index.history("r", "a")) == 300


def test_points_whose_segment_is_gone_stay_and_are_named(store, small):
    log_points(store)
    store.refresh()
    segment_files(store.run_folder("r"))[0].unlink()
    with store.index() as index:
        assert len(index.history("r", "a")) == 300
    (problem,) = verify(store, "r")["problems"]
    assert "is gone from the segments" in problem


def test_verify_names_points_that_the_columns_lack_or_hold_twice(store, small):
    log_points(store)
    store.refresh()
    with store.index() as index:
        index.db.execute("DELETE FROM parts WHERE file = ?", (parts_of(store)[0],))
    assert "points read" in verify(store, "r")["problems"][0]
    with store.index() as index:
        history.forget_parts(index, "r")
    check_whole(store)
    with store.index() as index:
        index.db.execute("UPDATE segments SET compacted = first")
    assert any("twice" in problem for problem in verify(store, "r")["problems"])


def test_the_index_can_go_while_parts_stay(store, small):
    log_points(store)
    store.refresh()
    (store.folder / "index.db").unlink()
    store.refresh()
    check_whole(store)
    assert files_of(store) == parts_of(store)


# The tables of version 1, as far as readers of its time filled them.
OLD_INDEX = """
CREATE TABLE identity (index_id TEXT NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE points (series_id, segment_id, sequence, step, time_us, value);
CREATE TABLE runs (run_id TEXT PRIMARY KEY, project TEXT);
INSERT INTO runs VALUES ('r', 'old');
PRAGMA user_version = 1;
"""


def test_a_store_of_version_1_is_migrated(store, small):
    log_points(store)
    mark = store.folder / "format.json"
    mark.write_text(json.dumps({"format": "seamount-tracking", "version": 1}))
    with sqlite3.connect(store.folder / "index.db") as old:
        old.executescript(OLD_INDEX)
    old.close()
    again = open_store(store.folder)
    assert json.loads(mark.read_text())["version"] == 2
    again.refresh()
    check_whole(again)
    with again.index() as index:
        assert index.run("r")["project"] == "seamount"
        tables = {name for (name,) in index.db.execute("SELECT name FROM sqlite_master")}
    assert "points" not in tables


def test_an_index_of_another_schema_is_made_again(store):
    log_points(store)
    with sqlite3.connect(store.folder / "index.db") as old:
        old.executescript(OLD_INDEX)
    old.close()
    store.refresh()
    check_whole(store)


LIGHT = """
import sys
from seamount.tracking import Run
with Run(store=sys.argv[1], run_id="r") as run:
    run.log_metrics({"a": 1.0})
with Run(store=sys.argv[1], run_id="r") as run:
    run.log_metrics({"a": 2.0})             # asks the index where its steps stopped
    run.log_metrics({"a": 3.0}, step=2.5)
print([name for name in ("numpy", "pyarrow", "duckdb") if name in sys.modules])
"""


def test_a_logger_imports_nothing_heavy(store, spawn):
    out, errors = spawn(LIGHT, store.uri).communicate(timeout=30)
    assert out.strip() == "[]", errors
    store.refresh()
    check_whole(store)


def test_a_later_store_is_refused(store):
    mark = store.folder / "format.json"
    mark.write_text(json.dumps({"format": "seamount-tracking", "version": 3}))
    with pytest.raises(UserError, match="version 3"):
        open_store(store.folder)
