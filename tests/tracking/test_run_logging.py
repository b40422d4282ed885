"""What one process logs comes back as it was given."""

from __future__ import annotations

import datetime
import enum
import hashlib
import math
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from seamount.core.errors import CorruptData, UserError
from seamount.tracking import Run, query
from seamount.tracking.endings import describe
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store import series
from seamount.tracking.store.ingest import ingest
from seamount.tracking.store.verify import verify


def one_row(store, run_id):
    store.refresh()
    with store.index() as index:
        return index.run(run_id)


def test_points_come_back_with_step_time_and_value(store, history):
    with Run(project="p", name="first", store=store.uri) as run:
        run.log_metrics({"loss": 2.5, "acc": 1}, step=10, timestamp=1700000000.25)
        run.log_metrics({"loss": 2.0}, step=0.5)
        at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
        run.log_metrics({"loss": 1.0}, step=-3, timestamp=at)
    points = history(store, run.run_id, "loss")
    assert [(p.step, p.value) for p in points] == [(-3, 1.0), (0.5, 2.0), (10, 2.5)]
    assert [type(p.step) for p in points] == [int, float, int]
    assert points[2].time_us == 1700000000_250000
    assert points[0].time_us == int(at.timestamp()) * 1_000_000
    row = one_row(store, run.run_id)
    assert (row["project"], row["name"], row["state"]) == ("p", "first", "Completed")
    assert row["ended_us"] >= row["created_us"]


def test_nan_and_infinities_are_kept_and_flagged(store, history):
    with Run(store=store.uri) as run:
        for step, value in enumerate([1.0, math.nan, math.inf, -math.inf, 5e-324, 1.7e308]):
            run.log_metrics({"x": value}, step=step)
    values = [p.value for p in history(store, run.run_id, "x")]
    assert math.isnan(values[1])
    assert [values[0], *values[2:]] == [1.0, math.inf, -math.inf, 5e-324, 1.7e308]
    with store.index() as index:
        (summary,) = index.summaries(run.run_id)
    assert (summary.points, summary.bad) == (6, 3)
    assert (summary.min_value, summary.max_value, summary.last_value) == (5e-324, 1.7e308, 1.7e308)


def test_steps_left_out_count_by_metric_and_go_on_after_a_resume(store, history):
    with Run(store=store.uri) as run:
        run.log_metrics({"a": 0.0})
        run.log_metrics({"a": 1.0, "b": 10.0})
        run.log_string_series({"s": "x"})
        run.log_string_series({"s": "y"})
    with Run(store=store.uri, run_id=run.run_id) as again:
        again.log_metrics({"a": 2.0, "b": 11.0})
        again.log_metrics({"c": 5.0})
    steps = {n: [(p.step, p.value) for p in history(store, run.run_id, n)] for n in "abc"}
    assert steps == {
        "a": [(0, 0.0), (1, 1.0), (2, 2.0)],
        "b": [(0, 10.0), (1, 11.0)],
        "c": [(0, 5.0)],
    }
    with store.index() as index:
        assert series.strings(index, run.run_id, "s") == [(0, "x"), (1, "y")]


def test_a_restarted_rank_replaces_from_its_restart_step_and_hides_nothing_for_good(store, history):
    with Run(store=store.uri) as run:
        for step in range(10):
            run.log_metrics({"loss": float(step)}, step=step)
    with Run(store=store.uri, run_id=run.run_id) as again:
        for step in range(6, 9):
            again.log_metrics({"loss": 100.0 + step}, step=step)
    shown = [(p.step, p.value) for p in history(store, run.run_id, "loss")]
    assert shown == [(s, float(s)) for s in range(6)] + [(s, 100.0 + s) for s in (6, 7, 8)]
    assert len(history(store, run.run_id, "loss", attempt=0)) == 10
    with store.index() as index:
        (summary,) = index.summaries(run.run_id)
    assert (summary.points, summary.last_step, summary.last_value) == (13, 8, 108.0)


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Optim:
    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)


@dataclass
class Recipe:
    optim: Optim = field(default_factory=Optim)
    colour: Colour = Colour.RED
    out: Path = Path("a/b")
    none: None = None


def test_configs_flatten_and_every_snapshot_is_kept(store):
    with Run(store=store.uri) as run:
        first = run.log_configs(Recipe())
        same = run.log_configs(Recipe())
        run.log_configs({"optim": {"lr": 0.2}, "when": datetime.date(2026, 1, 2)})
    assert first == same
    store.refresh()
    with store.index() as index:
        snapshots = [s["values"] for s in index.configs(run.run_id)]
    assert snapshots[0] == {
        "optim/lr": 0.1,
        "optim/betas": [0.9, 0.95],
        "colour": "red",
        "out": "a/b",
        "none": None,
    }
    assert snapshots[1] == snapshots[0] | {"optim/lr": 0.2, "when": "2026-01-02"}
    assert len(snapshots) == 2


def test_configs_without_flattening_and_with_unsupported_values(store):
    with Run(store=store.uri) as run:
        run.log_configs({"a": {"b": 1}}, flatten=False)
        with pytest.raises(UserError, match="'model/f' is a builtin"):
            run.log_configs({"model": {"f": len}})
        run.log_configs({"f": len}, cast_unsupported=True)
    store.refresh()
    with store.index() as index:
        assert index.configs(run.run_id)[-1]["values"] == {"a": {"b": 1}, "f": str(len)}


def test_tags_are_set_changed_and_removed(store):
    with Run(store=store.uri, tags=["baseline", "old"]) as run:
        run.add_tags({"team": "blue", "note": "two\nlines"})
        run.add_tags({"team": "red"})
        run.remove_tags(["old", "never there"])
    store.refresh()
    with store.index() as index:
        tags = index.tags(run.run_id)
    assert tags == {"baseline": "true", "team": "red", "note": "two\nlines"}


def test_files_are_stored_once_by_content_and_every_version_is_kept(store, tmp_path):
    source = tmp_path / "model"
    (source / "sub").mkdir(parents=True)
    (source / "w.bin").write_bytes(b"weights")
    (source / "sub" / "c.json").write_bytes(b"{}")
    with Run(store=store.uri) as run, Run(store=store.uri) as other:
        digests = run.assign_files({"model": source, "notes/a.txt": b"one"})
        run.assign_files({"notes/a.txt": b"two"})
        other.assign_files({"copy.bin": source / "w.bin"})
    assert digests["model/w.bin"] == hashlib.sha256(b"weights").hexdigest()
    shown = store.artifact_folder(run.run_id)
    assert (shown / "model/sub/c.json").read_bytes() == b"{}"
    assert (shown / "notes/a.txt").read_bytes() == b"two"
    blobs = {p.name for p in (store.folder / "blobs").rglob("*") if p.is_file()}
    assert blobs == {hashlib.sha256(b).hexdigest() for b in (b"weights", b"{}", b"one", b"two")}
    store.refresh()
    with store.index() as index:
        assert index.files(run.run_id)["notes/a.txt"]["versions"] == 2
    assert verify(store, run.run_id)["ok"]


@pytest.mark.parametrize(
    "name",
    ["../x", "a/../../x", "/etc/passwd", "a//b", ".", "a\\b", "a\x00b", "", "x" * 801, "a/.."],
)
def test_artifact_names_cannot_leave_the_run(store, name):
    with Run(store=store.uri) as run, pytest.raises(UserError):
        run.assign_files({name: b"x"})


@pytest.mark.parametrize("run_id", ["../x", "a/b", " ", "a" * 129, ".hidden", "-a", "ä", "a\n"])
def test_run_ids_that_are_no_plain_folder_names_are_refused(store, run_id):
    with pytest.raises(UserError, match="run_id"):
        Run(store=store.uri, run_id=run_id)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"loss": "high"}, "'loss' is 'high'"),
        ({"ok": 1.0, "loss": None}, "'loss' is 'None'"),
        ({"big": 10**400}, "'big'"),
        ({7: 1.0}, "must be text"),
        ({"": 1.0}, "empty"),
        ({"a\nb": 1.0}, "control character"),
        ({"\ud800": 1.0}, "not valid Unicode"),
        ({"x" * 1025: 1.0}, "1025 bytes"),
    ],
)
def test_bad_metrics_are_named_and_change_nothing(store, history, data, words):
    with Run(store=store.uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
        with pytest.raises(UserError, match=words):
            run.log_metrics(data, step=1)
        run.log_metrics({"loss": 2.0}, step=2)
    assert [p.value for p in history(store, run.run_id, "loss")] == [1.0, 2.0]
    assert verify(store, run.run_id)["ok"]


@pytest.mark.parametrize("step", [math.nan, math.inf, "ten", 2**70])
def test_steps_that_are_no_finite_numbers_are_refused(store, step):
    with Run(store=store.uri) as run:
        with pytest.raises(UserError, match="step"):
            run.log_metrics({"loss": 1.0}, step=step)
        with pytest.raises(UserError, match="step"):
            run.log_string_series({"loss": "1"}, step=step)


@pytest.mark.parametrize("timestamp", [1e300, -1e12, 1_700_000_000_000, math.nan, "now"])
def test_times_outside_the_calendar_are_refused(store, timestamp):
    """No table of times holds them: readers would stop at such a point."""
    with Run(store=store.uri) as run:
        with pytest.raises(UserError, match="timestamp"):
            run.log_metrics({"loss": 1.0}, step=0, timestamp=timestamp)
        with pytest.raises(UserError, match="timestamp"):
            run.log_string_series({"loss": "1"}, step=0, timestamp=timestamp)


def test_a_time_is_the_nearest_microsecond(store, history):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, datetime.UTC)
    with Run(store=store.uri, run_id="r") as run:
        run.log_metrics({"loss": 1.0}, step=0, timestamp=moment)
        run.log_metrics({"loss": 1.0}, step=1, timestamp=1_700_000_000.123457)
    times = [p.time_us for p in history(store, "r", "loss")]
    assert times == [1_767_323_045_678_901, 1_700_000_000_123_457]


def test_a_barrier_flushes_every_name_on_the_way(tmp_path, monkeypatch):
    """A file survives a power cut if it is flushed, and the folders that name it and they are."""
    flushed, real = set(), os.fsync

    def fsync(fd):
        flushed.add(Path(os.readlink(f"/proc/self/fd/{fd}")))
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with Run(store=tmp_path / "store", run_id="r", capture=False) as run:
        (digest,) = run.assign_files({"a": b"x"}).values()
        run.barrier()
        (segment,) = segment_files(tmp_path / "store/segments/r")
        store, blobs = tmp_path / "store", tmp_path / "store/blobs"
        identity = store / "segments/r/run.json"
        assert flushed >= {store / "format.json", store, store / "segments", segment, identity}
        assert flushed >= {identity.parent, blobs, blobs / digest[:2]}


def test_messages_that_are_no_unicode_are_written_out(store):
    """File names of bytes come as lone surrogates, which no table takes."""
    with pytest.raises(ValueError), Run(store=store.uri, run_id="r") as run:
        run._surroundings._error(describe(ValueError("\udcff")))
        raise ValueError("\udcff")
    found = query.run(store.folder, "r")
    assert found["error"]["message"] == "\\udcff"
    (row,) = query.series("runtime/exceptions", store=store.uri).rows()
    assert "\\udcff" in row["value"]


def test_unusual_names_values_and_numbers(store, history):
    import numpy as np

    with Run(store=store.uri) as run:
        run.log_metrics({"Verlust/é 字 %'\";--": np.float32(0.5)}, step=np.int64(3))
        run.log_metrics({})
    (point,) = history(store, run.run_id, "Verlust/é 字 %'\";--")
    assert (point.step, point.value) == (3, 0.5)


def test_threads_of_one_run_lose_nothing(store, history):
    with Run(store=store.uri) as run:

        def work(number: int) -> None:
            for step in range(500):
                run.log_metrics({f"m{number}": step, "shared": 1.0}, step=step)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(len(history(store, run.run_id, f"m{n}")) == 500 for n in range(4))
    assert len(history(store, run.run_id, "shared")) == 2000
    assert verify(store, run.run_id)["ok"]


def test_an_exception_marks_the_run_failed_with_its_traceback(store):
    with pytest.raises(ZeroDivisionError), Run(store=store.uri) as run:
        run.log_metrics({"loss": 1 / 0})
    row = one_row(store, run.run_id)
    assert row["state"] == "Failed"
    assert "ZeroDivisionError" in row["error"]
    assert "test_run_logging.py" in row["error"]


@pytest.mark.parametrize(
    ("error", "state"),
    [(KeyboardInterrupt(), "Interrupted"), (SystemExit(0), "Completed"), (SystemExit(3), "Failed")],
)
def test_other_ways_to_leave_a_run(store, error, state):
    with pytest.raises(BaseException), Run(store=store.uri) as run:  # noqa: B017
        raise error
    assert one_row(store, run.run_id)["state"] == state


def test_a_closed_run_refuses_and_resumes_by_id(store):
    with Run(project="p", store=store.uri) as run:
        pass
    with pytest.raises(UserError, match="is closed"):
        run.log_metrics({"x": 1.0})
    with pytest.raises(UserError, match="exists in project 'p', not 'q'"):
        Run(project="q", store=store.uri, run_id=run.run_id)
    with pytest.raises(ValueError, match="oops"), Run(store=store.uri, run_id=run.run_id):
        raise ValueError("oops")
    assert one_row(store, run.run_id)["state"] == "Failed"
    with Run(store=store.uri, run_id=run.run_id) as third:
        assert one_row(store, run.run_id)["state"] == "Running"
        assert third.project == "p"
    assert one_row(store, run.run_id)["state"] == "Completed"


def test_a_run_is_joined_through_the_environment(store, monkeypatch):
    with Run(project="p", store=store.uri) as run:
        for name, value in run.environment.items():
            monkeypatch.setenv(name, value)
        with Run(rank=1) as joined:
            assert (joined.run_id, joined.project, joined.store) == (run.run_id, "p", run.store)
            joined.log_metrics({"x": 1.0}, step=0)
    store.refresh()
    with store.index() as index:
        assert [(s.name, s.rank) for s in index.summaries(run.run_id)] == [("x", 1)]


@pytest.mark.parametrize("uri", ["seamount://relative/folder", "s3://bucket/x", "seamount:/x"])
def test_a_wrong_store_address_says_what_is_right(uri):
    with pytest.raises(UserError, match="three slashes"):
        Run(store=uri)


def test_a_store_of_a_later_version_is_refused(store):
    (store.folder / "format.json").write_text('{"format": "seamount-tracking", "version": 99}')
    with pytest.raises(UserError, match="version 99"):
        Run(store=store.uri)


def test_an_index_that_is_full_or_damaged_is_one_sentence(store):
    with Run(store=store.uri, run_id="r", capture=False) as run:
        run.log_configs({"large": "x" * 500_000})
    full = r"index.db \(database or disk is full\): check"
    with pytest.raises(UserError, match=full), store.index() as index:
        index.db.execute("PRAGMA max_page_count = 40")
        ingest(store, index)
    store.refresh()
    (store.folder / "index.db").write_bytes(b"nothing of SQLite's" * 1000)
    with pytest.raises(CorruptData, match=r"index.db is damaged .*: remove it"):
        store.refresh()


def test_the_index_is_made_again_from_the_segments(store, history):
    with Run(store=store.uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    before = history(store, run.run_id, "loss")
    (store.folder / "index.db").unlink()
    assert history(store, run.run_id, "loss") == before
