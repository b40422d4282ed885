"""The segment format: torn tails, damage, and every cut of a file."""

from __future__ import annotations

import json
import logging
import os
import shutil
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.tracking import Run
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder, Record
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store.ingest import PIECE_BYTES
from seamount.tracking.store.verify import verify


def whole(content: bytes) -> list[Record]:
    return list(Decoder().records(content))


def sample() -> list[bytes]:
    return [
        codec.encode_keys(0, 1, 0, ("a", "b")),
        codec.encode_metrics(1, 2, 0, 7, struct.pack("<2d", 1.5, float("nan"))),
        codec.encode_json(codec.EVENT, 2, 3, {"kind": "tags", "set": {"é": "x"}}),
        codec.encode_metrics(3, 4, 0, 7.5, struct.pack("<2d", float("inf"), -0.0)),
    ]


def test_the_layout_is_the_documented_one():
    """Read by hand with struct, so that another program can follow the docstring."""
    frame = sample()[1]
    length, checksum = struct.unpack_from("<II", frame)
    body = frame[8:]
    assert (length, checksum) == (len(body), zlib.crc32(body))
    kind, flags, zero, sequence, time_us, set_id, step = struct.unpack_from("<BBHQqIq", body)
    assert (kind, flags, zero, sequence, time_us, set_id, step) == (2, 0, 0, 1, 2, 0, 7)
    assert struct.unpack_from("<2d", body, 32)[0] == 1.5
    keys = sample()[0][8:]
    assert json.loads(keys[24:]) == ["a", "b"]


@given(st.integers(0, 300))
def test_a_file_cut_anywhere_gives_the_records_before_the_cut(cut):
    frames = sample()
    content = b"".join(frames)[:cut]
    ends = [sum(map(len, frames[: n + 1])) for n in range(4)]
    assert [r.sequence for r in whole(content)] == [n for n in range(4) if ends[n] <= cut]


@given(st.lists(st.integers(1, 120), max_size=8))
def test_reading_piece_by_piece_equals_reading_at_once(sizes):
    content = b"".join(sample())
    decoder, buffer, seen = Decoder(), b"", []
    for size in [*sizes, len(content)]:
        buffer, content = buffer + content[:size], content[size:]
        seen += [r.sequence for r in decoder.records(buffer)]
        buffer = buffer[decoder.consumed :]
    assert seen == [0, 1, 2, 3]


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_one_changed_byte_never_gives_a_wrong_value(place, change):
    frames = sample()
    content = bytearray(b"".join(frames))
    content[place % len(content)] ^= change
    right = {r.sequence: repr(r.body) for r in whole(b"".join(frames))}
    for record in whole(bytes(content)):
        assert repr(record.body) == right[record.sequence]


@given(st.binary(max_size=400))
def test_any_bytes_are_survived(content):
    whole(content)
    try:
        codec.read_header(content, "x.seg")
        codec.read_header(codec.MAGIC + content, "x.seg")
    except CorruptData:
        pass


def test_a_torn_tail_of_a_dead_writer_is_left_out_and_named(store, history):
    with Run(store=store.uri) as run:
        for step in range(5):
            run.log_metrics({"loss": 1.0}, step=step)
    (path,) = segment_files(store.run_folder(run.run_id))
    path.write_bytes(path.read_bytes()[:-3])  # cuts the seal
    assert len(history(store, run.run_id, "loss")) == 5
    result = verify(store, run.run_id)
    assert (result["state"], result["ok"]) == ("Killed", True)
    assert result["strands"][0]["unread_bytes"] > 0
    assert result["strands"][0]["gaps"] == []


def test_a_damaged_record_is_passed_over_and_its_gap_is_named(store, history):
    with Run(store=store.uri) as run:
        for step in range(5):
            run.log_metrics({"loss": 1.0}, step=step)
    (path,) = segment_files(store.run_folder(run.run_id))
    content = bytearray(path.read_bytes())
    record = codec.encode_metrics(0, 0, 0, 0, b"\0" * 8)
    content[content.rfind(struct.pack("<d", 1.0)) - len(record)] ^= 1  # in the record of step 3
    path.write_bytes(bytes(content))
    assert [p.step for p in history(store, run.run_id, "loss")] == [0, 1, 2, 4]
    result = verify(store, run.run_id)
    assert not result["ok"]
    assert result["strands"][0]["gaps"] == [[5, 5]]
    assert "lacks records 5 to 5" in result["problems"][0]


def test_a_foreign_file_among_the_segments_blocks_nobody(store, history, caplog):
    with Run(store=store.uri) as run:
        run.log_metrics({"loss": 1.0}, step=0)
    (path,) = segment_files(store.run_folder(run.run_id))
    path.with_name(path.name.replace("r000000", "r000001")).write_bytes(b"not ours")
    with caplog.at_level(logging.WARNING):
        assert len(history(store, run.run_id, "loss")) == 1
    assert "is not a segment" in caplog.text
    assert not verify(store, run.run_id)["ok"]


def test_a_damaged_run_and_a_foreign_folder_hide_no_other_run(store, history, caplog):
    with Run(store=store.uri) as run, Run(store=store.uri) as damaged:
        run.log_metrics({"loss": 1.0}, step=0)
    (store.run_folder(damaged.run_id) / "run.json").write_text("{")
    (store.segments / "not a run").mkdir()
    with caplog.at_level(logging.WARNING):
        assert len(history(store, run.run_id, "loss")) == 1
    assert f"run {damaged.run_id} is left out" in caplog.text


SENSELESS = [
    {"kind": "strings", "step": 10**30, "data": {"a": "x"}},
    {"kind": "strings", "step": 0, "data": {"a": "\udcff"}},
    {"kind": "strings", "step": 0, "data": ["a"]},
    {"kind": "files"},
    {"kind": "tags", "set": {"k": {}}},
    {"kind": ["config"]},
    {"kind": "histograms", "step": 0, "data": {"h": {"type": []}}},
    {"kind": "state", "state": [1]},
]


def test_events_that_make_no_sense_hide_nothing_else(store, history):
    """Of a faulty writer, or of a folder from elsewhere: each is left out, counted and named."""
    with Run(store=store.uri, run_id="odd", capture=False) as run:
        for event in SENSELESS:
            run._event(event)
        run.log_metrics({"loss": 1.0}, step=0)
        run._writer._append(codec.encode_json(codec.KEYS, 99, 0, {}), 1)
        run.log_metrics({"loss": 2.0}, step=1)
    with Run(store=store.uri, run_id="sealed", capture=False) as other:
        other._writer.seal({"kind": "end", "state": ["?"]})
    with Run(store=store.uri, run_id="sound", capture=False) as other:
        other.log_metrics({"loss": 1.0}, step=0)
    assert len(history(store, "sound", "loss")) == 1
    assert [p.value for p in history(store, "odd", "loss")] == [1.0, 2.0]
    problems = verify(store, "odd")["problems"]
    assert f"{len(SENSELESS)} events make no sense and are left out" in problems


def test_the_index_is_the_same_in_whatever_order_segments_are_read(store):
    """Names and deletions said by several processes: the newest word stands after a rebuild too."""
    for pid, name, deleted in ((900, "first", True), (10, "second", False)):
        with Run(store=store.uri, run_id="r", name=name, capture=False) as run:
            run._event({"kind": "deleted", "deleted": deleted})
        (path,) = (p for p in segment_files(store.run_folder("r")) if f".{os.getpid()}." in p.name)
        path.rename(path.with_name(path.name.replace(f".{os.getpid()}.", f".{pid}.")))
    # The attempts' numbers would order them rightly: they are of two clients of one attempt.
    (second,) = store.run_folder("r").glob("*.a0001.*")
    second.rename(second.with_name(second.name.replace(".a0001.", ".a0000.")))
    assert [".10." in path.name for path in segment_files(store.run_folder("r"))] == [True, False]
    store.refresh()
    with store.index() as index:
        (row,) = index.runs()
    assert (row["name"], row["deleted"]) == ("second", 0)


def test_segments_of_imports_stand_in_their_order(store):
    folder = store.run_folder("r")
    folder.mkdir()
    common = {"run_id": "r", "host": "h", "rank": 0, "world_size": 1, "role": "import",
              "attempt": 0, "first_sequence": 0, "start_us": 5, "nonce": "00"}  # fmt: skip
    made = [codec.Header(pid=pid, part=part, **common) for pid in range(1, 13) for part in (0, 1)]
    for header in made:
        (folder / header.file_name).touch()
    assert [p.name for p in segment_files(folder)] == [header.file_name for header in made]


def test_a_run_that_goes_away_hides_no_other(store, history, monkeypatch):
    from seamount.tracking.store import ingest

    for run_id in ("a", "b"):
        with Run(store=store.uri, run_id=run_id, capture=False) as run:
            run.log_metrics({"loss": 1.0}, step=0)

    def listed(folder):
        found = segment_files(folder)
        if folder.name == "a":
            shutil.rmtree(folder)
        return found

    monkeypatch.setattr(ingest, "segment_files", listed)
    assert len(history(store, "b", "loss")) == 1


def test_a_record_larger_than_a_piece_is_read(store, history):
    names = [f"{'n' * 1000}{i}" for i in range(PIECE_BYTES // 1000 + 100)]
    with Run(store=store.uri) as run:
        run.log_metrics(dict.fromkeys(names, 1.0), step=0)
        run.log_metrics({"after": 2.0}, step=0)
    assert len(history(store, run.run_id, "after")) == 1
    assert len(history(store, run.run_id, names[-1])) == 1


def test_names_that_no_reader_would_take_are_refused(store, history, monkeypatch):
    """A frame over the bound ends the file for every reader: nothing behind it would be found."""
    monkeypatch.setattr(codec, "MAX_BODY_BYTES", 5000)
    with Run(store=store.uri, run_id="r", capture=False) as run:
        with pytest.raises(UserError, match="log fewer a call"):
            run.log_metrics({f"{'n' * 1000}{i}": 1.0 for i in range(5)}, step=0)
        run.log_metrics({"after": 2.0}, step=0)
    assert len(history(store, "r", "after")) == 1


def test_long_logs_rotate_into_parts_with_one_sequence(store, history, monkeypatch):
    from seamount.tracking.segments import writer

    monkeypatch.setattr(writer, "ROTATE_BYTES", 5000)
    with Run(store=store.uri) as run:
        for step in range(500):
            run.log_metrics({"loss": float(step)}, step=step)
            if step == 250:
                store.refresh()
    assert len(segment_files(store.run_folder(run.run_id))) > 3
    assert [p.value for p in history(store, run.run_id, "loss")] == [float(s) for s in range(500)]
    result = verify(store, run.run_id)
    assert result["ok"]
    assert len(result["strands"]) == 1
    assert result["state"] == "Completed"


@pytest.mark.parametrize("count", [5000])
def test_ever_new_sets_of_names_stay_bounded(store, history, count):
    with Run(store=store.uri) as run:
        for number in range(count):
            run.log_metrics({f"m{number}": 1.0}, step=0)
    assert len(segment_files(store.run_folder(run.run_id))) == 2
    store.refresh()
    with store.index() as index:
        assert len(index.summaries(run.run_id)) == count
    assert verify(store, run.run_id)["ok"]
