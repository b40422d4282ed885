"""A fork's history is a brute-force join of segments, beside a reader of another hand."""

from __future__ import annotations

import math
import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_reader import joined, shown

from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.points import compaction, history, parts
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

STEPS = st.one_of(
    st.integers(-2, 8),
    st.sampled_from([0.5, 2.5, 3.0, -0.0, 2**53, 2**53 + 1, 2.0**53, 2**63 - 1, 2.0**63, -1e300]),
    st.floats(-3, 9),
)
VALUES = st.one_of(st.floats(-9, 9), st.sampled_from([math.nan, math.inf]))
CALLS = st.lists(
    st.tuples(st.sampled_from([("a",), ("b", "a"), ("system/x", "a")]), STEPS, VALUES,
              st.integers(0, 2)), max_size=6)  # fmt: skip
# One strand after the other: a new run (forked from an earlier one, or not), or an old one again.
DEEDS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-1, 4), STEPS, st.integers(0, 1), CALLS,
              st.booleans()), min_size=1, max_size=7)  # fmt: skip


def small(patch) -> None:
    """Everything is compacted at once, in tiny pieces that are merged often."""
    patch.setattr(compaction, "TAIL_BYTES", 0)
    patch.setattr(compaction, "ENDED_TAIL_BYTES", 0)
    patch.setattr(compaction, "PIECE_BYTES", 200)
    patch.setattr(compaction, "MERGED_PARTS", 3)
    patch.setattr(parts, "ROW_GROUP_ROWS", 5)


def grow(store, deeds) -> list[str]:
    """Act the deeds out; returns the runs."""
    made: list[str] = []
    for run, parent, fork_step, rank, calls, compact in deeds:
        name = f"r{run}"
        fork = {}
        if name not in made and 0 <= parent < len(made):
            fork = {"fork_run_id": made[parent], "fork_step": fork_step}
        with Run(store=store.uri, run_id=name, rank=rank, capture=False, **fork) as logger:
            for names, step, value, second in calls:
                logger.log_metrics(dict.fromkeys(names, value), step=step, timestamp=second)
        made += [name] if name not in made else []
        if compact:
            with pytest.MonkeyPatch.context() as patch:
                small(patch)
                store.refresh()
    return made


def text(points) -> list[str]:
    """As text, so that NaN equals NaN, 3 differs from 3.0 and 0.0 from -0.0."""
    return [repr(tuple(point)) for point in points]


def plain(points) -> list[str]:
    return text((p.step, p.value, p.time_us) for p in points)


@settings(max_examples=20, deadline=None)
@given(DEEDS)
def test_random_trees_read_as_a_brute_force_join_of_their_segments(deeds):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        made = grow(store, deeds)
        store.refresh()
        for run_id in made:
            right = {key: text(ps) for key, ps in joined(store.segments, run_id).items()}
            with store.index() as index:
                every = history.all_columns(index, run_id)
                assert {key: plain(found.points()) for key, found in every.items()} == right
                for (name, rank), points in right.items():
                    assert plain(index.history(run_id, name, rank)) == points
                    assert plain(history.plain_points(index, run_id, name, rank)) == points
                own = {k: text(ps) for k, ps in shown(store.run_folder(run_id)).items() if ps}
                found = history.all_columns(index, run_id, lineage=False)
                assert {key: plain(columns.points()) for key, columns in found.items()} == own
            assert verify(store, run_id)["ok"]


@settings(max_examples=8, deadline=None)
@given(DEEDS)
def test_sql_summaries_and_filters_see_the_same_join(deeds):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        made = grow(store, deeds)
        rows = query.sql("select run_id, name, rank, step, value from metrics", store.folder)
        found: dict[str, list[str]] = {}
        for run_id, name, rank, step, value in zip(*rows.to_pydict().values(), strict=True):
            found.setdefault(run_id, []).append(repr((name, rank, step, value)))
        for run_id in made:
            right = joined(store.segments, run_id)
            flat = [repr((*key, float(p[0]), p[1])) for key, ps in right.items() for p in ps]
            assert sorted(found.get(run_id, [])) == sorted(flat)
            restarted = any("a0001" in path.name for path in store.run_folder(run_id).iterdir())
            view = query.open_run(run_id, store.folder)
            for (name, rank), points in right.items():
                if restarted or rank:
                    continue  # of several attempts a summary is the newest one's: documented
                summary = view.metrics[name]
                finite = [p[1] for p in points if math.isfinite(p[1])]
                last = points[-1]
                assert repr((summary.last_step, summary.last_value, summary.last_us)) == repr(last)
                assert summary.points == view[f"count({name})"] == len(points)
                assert summary.min_value == view[f"min({name})"] == min(finite, default=None)
                assert summary.max_value == view[f"max({name})"] == max(finite, default=None)


def test_a_fork_of_a_fork_ends_where_each_was_left(store, history):
    with Run(store=store.uri, run_id="root", capture=False) as run:
        for step in range(10):
            run.log_metrics({"loss": 100.0 + step}, step=step)
    with Run(store=store.uri, run_id="mid", fork_run_id="root", fork_step=3, capture=False) as run:
        for step in range(4, 8):
            run.log_metrics({"loss": 200.0 + step}, step=step)
    with Run(store=store.uri, run_id="leaf", fork_run_id="mid", fork_step=5, capture=False) as run:
        run.log_metrics({"loss": 306.0}, step=6)
    found = [(p.step, p.value) for p in history(store, "leaf", "loss")]
    assert found == [(0, 100), (1, 101), (2, 102), (3, 103), (4, 204), (5, 205), (6, 306)]
    below = [p.step for p in history(store, "leaf", "loss", lineage=False)]
    assert below == [6]
    # left before the middle run's own points: its part of the story is not this fork's
    with Run(store=store.uri, run_id="low", fork_run_id="mid", fork_step=1.5, capture=False):
        pass
    assert [p.value for p in history(store, "low", "loss")] == [100, 101]


def test_ranks_and_attempts_join_rank_by_rank(store, history):
    for attempt in range(2):
        for rank in range(2):
            with Run(store=store.uri, run_id="p", rank=rank, capture=False) as run:
                for step in range(3 * attempt, 6):
                    run.log_metrics({"loss": 100.0 * attempt + 10 * rank + step}, step=step)
    with Run(
        store=store.uri, run_id="f", rank=1, fork_run_id="p", fork_step=4, capture=False
    ) as run:
        run.log_metrics({"loss": -1.0}, step=5)
    assert [p.value for p in history(store, "f", "loss", 1)] == [10, 11, 12, 113, 114, -1]
    assert [p.value for p in history(store, "f", "loss", 0)] == [0, 1, 2, 103, 104]
    assert [p.value for p in history(store, "f", "loss", 1, attempt=0)] == [-1]


def test_steps_left_out_go_on_after_the_inherited_ones(store, history):
    with Run(store=store.uri, run_id="p", capture=False) as run:
        for value in range(6):
            run.log_metrics({"loss": value})
        run.log_metrics({"seldom": 0.0})
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=3, capture=False) as run:
        run.log_metrics({"loss": 40.0, "seldom": 1.0, "new": 2.0})
        run.log_metrics({"loss": 50.0})
        pid = os.fork()
        if pid == 0:  # a forked child counts by itself, also after the inherited ones
            run.log_metrics({"loss": 60.0})
            os._exit(0)
        os.waitpid(pid, 0)
    with Run(store=store.uri, run_id="f", capture=False) as run:
        run.log_metrics({"loss": 70.0})
    steps = {n: [(p.step, p.value) for p in history(store, "f", n)] for n in ("seldom", "new")}
    assert steps == {"seldom": [(0, 0), (1, 1)], "new": [(0, 2)]}
    loss = [(p.step, p.value) for p in history(store, "f", "loss", lineage=False)]
    assert sorted(loss) == [(4, 40), (4, 60), (5, 50), (6, 70)]


def test_a_parent_that_goes_on_lends_late_points_too(store, history):
    parent = Run(store=store.uri, run_id="p", capture=False)
    parent.log_metrics({"loss": 0.0}, step=0)
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=2, capture=False) as run:
        run.log_metrics({"loss": 3.0}, step=3)
    assert [p.step for p in history(store, "f", "loss")] == [0, 3]
    parent.log_metrics({"loss": 1.0}, step=1)
    parent.log_metrics({"loss": 9.0}, step=9)
    assert [p.step for p in history(store, "f", "loss")] == [0, 1, 3]
    parent.close()


CHILD = """
import os, signal, sys
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="f", fork_run_id="p", fork_step=50, capture=False)
for step in range(51, 10**9):
    run.log_metrics({"loss": float(step)}, step=step)
    if step == 400:
        print("ready", flush=True)
"""


def test_a_fork_killed_in_the_middle_keeps_all_it_said_and_all_it_was_lent(
    store, spawn, history, monkeypatch
):
    with Run(store=store.uri, run_id="p", capture=False) as run:
        for step in range(100):
            run.log_metrics({"loss": -1.0}, step=step)
    small(monkeypatch)
    monkeypatch.setattr(compaction, "PIECE_BYTES", 6000)
    process = spawn(CHILD, store.uri, SEAMOUNT_TRACKING_WATCHER="off")
    assert process.stdout.readline().strip() == "ready"
    store.refresh()  # compacts while it logs
    process.send_signal(signal.SIGKILL)
    process.wait()
    steps = [p.step for p in history(store, "f", "loss")]
    right = [p[0] for p in joined(store.segments, "f")["loss", 0]]
    assert steps == right == list(range(len(steps))) and len(steps) > 400
    assert verify(store, "f")["ok"]


def test_a_parent_taken_away_is_told_and_never_passed_over(store, history, caplog):
    with Run(store=store.uri, run_id="p", capture=False) as run:
        run.log_metrics({"loss": 5.0}, step=0)
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=0, capture=False) as run:
        run.log_metrics({"loss": 1.0}, step=1)
    assert [p.step for p in history(store, "f", "loss")] == [0, 1]
    (store.segments / "p").rename(store.folder / "elsewhere")
    said = "run 'f' goes on from run 'p' at step 0, which is gone from this store"
    for index_is_there in (True, False):
        if not index_is_there:
            (store.folder / "index.db").unlink()
        with pytest.raises(UserError, match=said):
            query.points(store.folder, "f", "loss")
        with pytest.raises(UserError, match=said):
            query.columns(store.folder, "f", "loss")
        assert [p["step"] for p in query.points(store.folder, "f", "loss", lineage=False)] == [1]
        assert said in query.run(store.folder, "f")["lineage"]["problem"]
        result = verify(store, "f")
        assert not result["ok"] and said in result["problems"][0]
        assert any(said in text for text in query.audit("f", store.folder).missing)
        caplog.clear()  # a question to many runs is answered, with a word
        (row,) = query.runs("run_id = 'f'", store=store.folder, columns=[
            "count(loss)", "mean(loss)"])  # fmt: skip
        assert list(row.known.values()) == [1, 1.0] and said in caplog.text
        rows = query.sql("select step from metrics where run_id = 'f'", store.folder).to_pylist()
        assert rows == [{"step": 1}]
        assert query.metrics("loss", "run_id = 'f'", store=store.folder).columns["step"] == [1]
    (store.folder / "elsewhere").rename(store.segments / "p")
    assert [p.step for p in history(store, "f", "loss")] == [0, 1]


def test_a_parent_marked_as_deleted_still_lends(store, history):
    with Run(store=store.uri, run_id="p", capture=False) as run:
        run.log_metrics({"loss": 5.0}, step=0)
        run._event({"kind": "deleted", "deleted": True})
    with Run(store=store.uri, run_id="f", fork_run_id="p", fork_step=0, capture=False) as run:
        run.log_metrics({"loss": 1.0}, step=1)
    assert [p.step for p in history(store, "f", "loss")] == [0, 1]
    select = "select run_id, step, logged_by from {} order by step"
    rows = query.sql(select.format("metrics"), store.folder).to_pylist()
    assert [tuple(row.values()) for row in rows] == [("f", 0, "p"), ("f", 1, "f")]
    rows = query.sql("select run_id from points", store.folder).to_pylist()
    assert rows == [{"run_id": "f"}]
    assert query.lineage(store.folder, "f")["ancestors"][0]["deleted"]
