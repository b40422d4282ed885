"""Previews: provisional points that count nowhere unless asked for, and give way as said."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_reader import points as final_points
from segment_reader import previews, shown
from test_forked_points import small, text

from seamount.core.errors import UserError
from seamount.tracking import Run, query
from seamount.tracking.points import history as points_history
from seamount.tracking.segments import codec
from seamount.tracking.segments.blocks import read_blocks
from seamount.tracking.segments.codec import Decoder
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

SHARES = st.one_of(st.none(), st.sampled_from([0, 0.0, 1, 1.0]), st.floats(0, 1))
CALLS = st.lists(
    st.tuples(
        st.sampled_from([("a",), ("b", "a")]),
        st.one_of(st.integers(0, 4), st.sampled_from([0.5, 2.0, 3.0])),
        st.floats(-9, 9), st.integers(0, 2), st.one_of(st.just("final"), SHARES),
    ), max_size=10)  # fmt: skip
STRANDS = st.lists(st.tuples(CALLS, st.booleans()), min_size=1, max_size=3)


def brute(folder: Path, name: str) -> list[str]:
    """The rule point by point: what later attempts replaced, then what a step's previews are."""
    final = shown(folder).get((name, 0), [])
    raw = {a: ps for (n, _, a), ps in previews(folder).items() if n == name}
    starts = {a: min(p[0] for p in ps) for (n, _, a), ps in final_points(folder).items()
              if n == name}  # fmt: skip
    kept = [
        (p, (p[2], attempt, place)) for attempt, ps in raw.items() for place, p in enumerate(ps)
        if all(p[0] < start for later, start in starts.items() if later > attempt)
    ]  # fmt: skip
    rows = [(*p, False, None) for p in final]
    for step in {p[0] for p, _ in kept} - {p[0] for p in final}:
        newest = max((pair for pair in kept if pair[0][0] == step), key=lambda pair: pair[1])[0]
        share = None if math.isnan(newest[3]) else newest[3]
        rows.append((*newest[:3], True, share))
    return text(sorted(rows, key=lambda row: (row[0], row[2])))


@settings(max_examples=30, deadline=None)
@given(STRANDS)
def test_previews_beside_a_brute_force_reading_of_the_segments(strands):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        for calls, compact in strands:
            with Run(store=store.uri, run_id="r", capture=False) as run:
                for names, step, value, second, share in calls:
                    how = {} if share == "final" else {"preview": True, "preview_completion": share}
                    data = dict.fromkeys(names, value)
                    run.log_metrics(data, step=step, timestamp=second, **how)
            if compact:
                with pytest.MonkeyPatch.context() as patch:
                    small(patch)
                    store.refresh()
        store.refresh()
        segments = store.run_folder("r")
        right = {key[0]: text(ps) for key, ps in shown(segments).items() if ps}
        with store.index() as index:
            every = points_history.all_columns(index, "r")
            assert {k[0]: text((p.step, p.value, p.time_us) for p in found.points())
                    for k, found in every.items()} == right  # fmt: skip
            for name in ("a", "b"):
                for read in (index.history, lambda *a, **k: points_history.plain_points(
                        index, *a, **k)):  # fmt: skip
                    found = read("r", name, include_previews=True)
                    rows = [(p.step, p.value, p.time_us, p.preview, p.preview_completion)
                            for p in found]  # fmt: skip
                    assert text(rows) == brute(segments, name)
        assert verify(store, "r")["ok"]


@given(st.lists(st.integers(0, 255), max_size=3), st.integers(0, 900), st.integers(0, 900))
def test_blocks_and_records_agree_on_previews_whatever_bytes_are_damaged(flips, place, cut):
    content = bytearray(codec.encode_keys(0, 1, 0, ("a", "b")))
    for number in range(1, 14):
        step = number / 2 if number % 3 == 0 else number
        end = codec.completion(number / 20) if number % 2 else b""
        flags = codec.PREVIEW if number % 2 else codec.AUTO_STEP
        values = np.arange(2) * 0.5 + number
        content += codec.encode_metrics(number, 5, 0, step, values.tobytes() + end, flags)
    for offset, value in enumerate(flips):
        content[(place + offset * 37) % len(content)] ^= value
    data = bytes(content)[: max(0, len(content) - cut)]
    one, many = Decoder(), Decoder()
    records = [r for r in one.records(data) if r.kind == codec.METRICS]
    blocks, _ = read_blocks(many, data)
    assert (one.consumed, one.damaged) == (many.consumed, many.damaged)
    right = [(r.sequence, repr(r.body[1]), r.body[2], r.preview) for r in records]
    found = [
        (sequence, repr(step), tuple(row), None if b.completion is None else share)
        for b in blocks
        for sequence, step, row, share in zip(
            b.sequence.tolist(), b.steps.tolist(), b.values.tolist(),
            [None] * len(b.values) if b.completion is None else b.completion.tolist(), strict=True,
        )
    ]  # fmt: skip
    assert sorted(found) == sorted(right)


@pytest.fixture
def previewed(store):
    """loss: final at 0 and 1, provisional at 1 (replaced) and 2; only: provisional alone."""
    with Run(store=store.uri, run_id="r", capture=False) as run:
        run.log_metrics({"loss": 5.0}, step=0)
        run.log_metrics({"loss": 99.0}, step=1, preview=True, preview_completion=0.2)
        run.log_metrics({"loss": 4.0}, step=1)
        run.log_metrics({"loss": -99.0, "only": 1.0}, step=2, preview=True, preview_completion=0.9)
        run.log_metrics({"loss": -98.0}, step=2, preview=True, preview_completion=0.5)
    return store


@pytest.mark.parametrize("light", [True, False])
def test_previews_count_nowhere_unless_asked_for(previewed, light):
    previewed.refresh(light=light)
    (row,) = query.runs(store=previewed.folder, columns=[
        "last(loss)", "min(loss)", "max(loss)", "mean(loss)", "count(loss)", "at(loss, 2)",
        "last(only)", "count(only)"])  # fmt: skip
    assert list(row.known.values()) == [4, 4, 5, 4.5, 2, None, None, None]
    assert list(query.open_run("r", previewed.folder).metrics) == ["loss"]
    assert [p["value"] for p in query.points(previewed.folder, "r", "loss")] == [5, 4]
    assert len(query.metrics(".*", store=previewed.folder)) == 2
    assert query.sql("select count(*) c from metrics", previewed.folder).to_pylist() == [{"c": 2}]
    assert query.sql("select count(*) c from points", previewed.folder).to_pylist() == [{"c": 2}]
    with pytest.raises(UserError, match="metric 'only'"):
        query.points(previewed.folder, "r", "only")
    assert verify(previewed, "r")["points"] == 6


def test_asked_for_they_say_what_they_are(previewed):
    found = query.points(previewed.folder, "r", "loss", include_previews=True)
    assert [(p["step"], p["value"], p["preview"], p["preview_completion"]) for p in found] == [
        (0, 5, False, None), (1, 4, False, None), (2, -98, True, 0.5),
    ]  # fmt: skip
    columns = query.columns(previewed.folder, "r", "only", include_previews=True)
    assert (columns.values.tolist(), columns.previews.tolist()) == ([1.0], [0.9])
    rows = query.metrics(".*", store=previewed.folder, include_previews=True).rows()
    assert [(r["metric"], r["step"], r["preview_completion"]) for r in rows] == [
        ("loss", 0, None), ("loss", 1, None), ("loss", 2, 0.5), ("only", 2, 0.9),
    ]  # fmt: skip
    found = query.open_run("r", previewed.folder).series("loss", include_previews=True)
    assert found.columns["preview"] == [False, False, True]
    thin = query.buckets("loss", store=previewed.folder, include_previews=True, limit=2)
    assert thin.columns["value"] == [5, -98]
    every = query.sql("select step, value, completion from previews order by value",
                      previewed.folder).to_pylist()  # fmt: skip
    assert [tuple(row.values()) for row in every] == [
        (2, -99, 0.9), (2, -98, 0.5), (2, 1, 0.9), (1, 99, 0.2),
    ]  # fmt: skip


def test_previews_of_a_parent_join_too_and_give_way_to_the_fork(previewed, history):
    with Run(store=previewed.uri, run_id="f", fork_run_id="r", fork_step=2, capture=False) as run:
        assert [p.value for p in history(previewed, "f", "loss", include_previews=True)] == [
            5, 4, -98,
        ]  # fmt: skip
        run.log_metrics({"loss": 3.0}, step=2)
    found = history(previewed, "f", "loss", include_previews=True)
    assert [p.value for p in found] == [5, 4, 3]


@pytest.mark.parametrize(("how", "said"), [
    ({"preview": True, "step": None}, "a preview needs a step"),
    ({"preview_completion": 0.5}, "add preview=True"),
    ({"preview": True, "preview_completion": 1.5}, "1.5 is not from 0 to 1"),
    ({"preview": True, "preview_completion": math.nan}, "nan is not from 0 to 1"),
    ({"preview": True, "preview_completion": "half"}, "'half' is not a number"),
    ({"preview": True, "step": math.inf}, "must be finite"),
])  # fmt: skip
def test_a_preview_that_makes_no_sense_is_refused(store, how, said):
    with Run(store=store.uri, capture=False) as run, pytest.raises(UserError, match=said):
        run.log_metrics({"loss": 1.0}, **({"step": 0} | how))


def test_an_older_reader_passes_a_preview_over_and_never_takes_it_for_a_point():
    """Its body is 8 bytes longer than its names say: a reader that knows no flag 4 counts it as
    damaged."""
    keys = codec.encode_keys(0, 1, 0, ("a",))
    end = codec.completion(0.5)
    content = codec.encode_metrics(1, 5, 0, 7, b"\0" * 8 + end, codec.PREVIEW)
    body = bytearray(content[8:])
    body[1] &= ~codec.PREVIEW  # what it looks like to a reader that ignores the flag
    decoder = Decoder()
    records = list(decoder.records(keys + codec.frame(bytes(body)) + keys))
    assert [r.kind for r in records] == [codec.KEYS, codec.KEYS] and decoder.damaged == 1
