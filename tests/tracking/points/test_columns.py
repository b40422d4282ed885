"""What parts and tails give is what the segments hold: beside a reader of another hand."""

from __future__ import annotations

import contextlib
import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from segment_reader import points as raw_points
from segment_reader import shown

from seamount.tracking import Run, query
from seamount.tracking.points import compaction, history, parts
from seamount.tracking.points.buckets import envelope
from seamount.tracking.segments import codec
from seamount.tracking.segments.blocks import read_blocks
from seamount.tracking.segments.codec import Decoder
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify

STEPS = st.one_of(
    st.integers(-3, 12),
    st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, 2.0**63, -(2**63), -(2.0**63)]),
    st.sampled_from([1e300, -1e300]),
    st.sampled_from([0.5, 2.5, 3.0, -0.0, -5e-324, -1e-300]),
    st.floats(-4, 12),
)
VALUES = st.one_of(st.floats(), st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324]))
NAMES = st.sampled_from([("a",), ("b",), ("a", "b"), ("c", "a")])
CALLS = st.lists(st.tuples(NAMES, STEPS, VALUES, st.integers(0, 3)), max_size=12)
STRANDS = st.lists(st.tuples(st.integers(0, 1), CALLS, st.integers(0, 120), st.booleans()),
                   min_size=1, max_size=4)  # fmt: skip


@contextlib.contextmanager
def small_parts():
    """Everything is compacted at once, in tiny pieces that are merged often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compaction, "TAIL_BYTES", 0)
        patch.setattr(compaction, "ENDED_TAIL_BYTES", 0)
        patch.setattr(compaction, "PIECE_BYTES", 200)
        patch.setattr(compaction, "MERGED_PARTS", 3)
        patch.setattr(parts, "ROW_GROUP_ROWS", 5)
        yield


def text(points) -> list[str]:
    """Points as text, so that NaN equals NaN, 3 differs from 3.0 and 0.0 from -0.0."""
    return [repr((step, value, time_us)) for step, value, time_us in points]


def as_read(columns) -> list[str]:
    return text((p.step, p.value, p.time_us) for p in columns.points())


def log_strand(store, rank: int, calls, cut: int) -> None:
    """One process's life; `cut` bytes at its end never reached the disk."""
    before = set(store.run_folder("r").glob("*.seg")) if (store.segments / "r").exists() else set()
    with Run(store=store.uri, run_id="r", rank=rank) as run:
        for names, step, value, second in calls:
            run.log_metrics(dict.fromkeys(names, value), step=step, timestamp=second)
    (path,) = set(segment_files(store.run_folder("r"))) - before
    content = path.read_bytes()
    first = codec.read_header(content, "x")[1]
    path.write_bytes(content[: max(first, len(content) - cut)])


@settings(max_examples=40, deadline=None)
@given(STRANDS)
def test_points_equal_a_brute_force_reading_of_the_segments(strands):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        for rank, calls, cut, compact in strands:
            log_strand(store, rank, calls, cut)
            if compact:
                with small_parts():
                    store.refresh()
        store.refresh()
        right = {key: text(ps) for key, ps in shown(store.run_folder("r")).items()}
        with store.index() as index:
            every = history.all_columns(index, "r")
            assert {key: as_read(found) for key, found in every.items()} == right
            for (name, rank), points in right.items():
                assert as_read(index.columns("r", name, rank)) == points
                plain = history.plain_points(index, "r", name, rank)
                assert text((p.step, p.value, p.time_us) for p in plain) == points
            for (name, rank, attempt), points in raw_points(store.run_folder("r")).items():
                found = index.columns("r", name, rank, attempt=attempt)
                assert as_read(found) == text(sorted(points, key=lambda p: (p[0], p[2])))
        assert verify(store, "r")["ok"]


@settings(max_examples=15, deadline=None)
@given(STRANDS)
def test_summaries_equal_a_brute_force_reading_light_or_not(strands):
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "store")
        for rank, calls, cut, _ in strands:
            log_strand(store, rank, calls, cut)
        found = []
        for light in (True, False):
            (store.folder / "index.db").unlink(missing_ok=True)
            store.refresh(light=light)
            with store.index() as index:
                found.append(sorted(map(repr, index.summaries("r"))))
        assert found[0] == found[1]
        raw = raw_points(store.run_folder("r"))
        for summary in index_summaries(store):
            mine = {
                a: ps for (n, r, a), ps in raw.items() if (n, r) == (summary.name, summary.rank)
            }
            newest = mine[max(mine)]
            finite = [value for _, value, _ in newest if math.isfinite(value)]
            assert summary.points == sum(map(len, mine.values()))
            assert summary.bad == sum(not math.isfinite(p[1]) for ps in mine.values() for p in ps)
            last = max(newest, key=lambda p: (p[0], p[2]))
            assert (summary.last_step, summary.last_us) == (last[0], last[2])
            assert summary.min_value == (min(finite) if finite else None)
            assert summary.max_value == (max(finite) if finite else None)


def index_summaries(store):
    with store.index() as index:
        return index.summaries("r")


@given(st.lists(st.integers(0, 255), max_size=3), st.integers(0, 2000), st.integers(0, 2000))
def test_blocks_hold_what_records_give_whatever_bytes_are_damaged(flips, place, cut):
    content = bytearray(codec.encode_keys(0, 1, 0, ("a", "b")))
    content += codec.encode_keys(1, 1, 7, ("c",))
    for number in range(2, 20):
        step = number / 2 if number % 3 == 0 else number
        number_of_set, size = (7, 1) if number % 4 == 0 else (0, 2)
        values = np.arange(size) * 0.5 + number
        content += codec.encode_metrics(number, 5, number_of_set, step, values.tobytes())
    for offset, value in enumerate(flips):
        content[(place + offset * 37) % len(content)] ^= value
    data = bytes(content)[: max(0, len(content) - cut)]
    one, many = Decoder(), Decoder()
    records = [r for r in one.records(data) if r.kind == codec.METRICS]
    blocks, _ = read_blocks(many, data)
    assert (one.consumed, one.damaged, one.sets) == (many.consumed, many.damaged, many.sets)
    right = [
        (record.sequence, repr(record.body[1]), *pair)
        for record in records
        for pair in zip(record.body[0], record.body[2], strict=True)
    ]
    found = [
        (sequence, repr(step), *pair)
        for block in blocks
        for sequence, step, row in zip(
            block.sequence.tolist(), block.steps.tolist(), block.values.tolist(), strict=True
        )
        for pair in zip(block.names, row, strict=True)
    ]
    assert sorted(found) == sorted(right)


def brute_envelope(values: list[float], limit: int) -> list[int]:
    """The same rule point by point."""
    if len(values) <= limit:
        return list(range(len(values)))
    kept = []
    for bucket in range(limit // 4):
        start, end = (len(values) * b // (limit // 4) for b in (bucket, bucket + 1))
        finite = [i for i in range(start, end) if math.isfinite(values[i])]
        extremes = {min(finite, key=values.__getitem__), max(finite, key=values.__getitem__)} \
            if finite else set()  # fmt: skip
        kept += sorted({start, end - 1} | extremes)
    return kept


@given(st.lists(VALUES, max_size=60), st.integers(4, 40))
def test_an_envelope_keeps_first_lowest_highest_and_last_of_each_bucket(values, limit):
    kept = envelope(np.array(values, float), limit).tolist()
    assert kept == brute_envelope(values, limit)
    assert len(kept) <= max(limit, min(len(values), limit))


@pytest.mark.parametrize(("limit", "kept"), [(1, [9]), (2, [0, 9]), (3, [0, 8, 9])])
def test_an_envelope_of_fewer_than_four(limit, kept):
    assert envelope(np.arange(10.0), limit).tolist() == kept


def test_without_pyarrow_everything_is_read_from_the_segments(store, monkeypatch):
    with Run(store=store.uri, run_id="r") as run:
        for step in range(50):
            run.log_metrics({"a": step * 0.5}, step=step)
    with small_parts():
        store.refresh()
    with store.index() as index:
        assert index.db.execute("SELECT count(*) FROM parts").fetchone()[0] > 0
        monkeypatch.setattr(history, "has_columns", lambda: False)
        assert [(p.step, p.value) for p in index.history("r", "a")] == [
            (s, s * 0.5) for s in range(50)
        ]


def test_query_columns_are_arrays(store):
    with Run(store=store.uri, run_id="r") as run:
        for step in range(5):
            run.log_metrics({"a": float(step)}, step=step)
    found = query.columns(store.uri, "r", "a")
    assert found.steps.dtype == np.int64
    assert found.values.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
