"""A .wandb log: golden/ was written by wandb 0.31 offline (benchmarks/import_peers.py --keep)."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamount.tracking import query
from seamount.tracking.importing import leveldb_log, load
from seamount.tracking.importing.records import Report
from seamount.tracking.store import series
from seamount.tracking.store.verify import verify

GOLDEN = Path(__file__).parent / "golden"
LOG = GOLDEN / "run-abc123.wandb"


@pytest.fixture
def folder(tmp_path):
    run = tmp_path / "wandb/offline-run-1-abc123"
    shutil.copytree(GOLDEN / "files", run / "files")
    shutil.copy(LOG, run)
    (run / "files/output.log").write_text("said\n")
    (tmp_path / "private").write_text("secret")
    (run / "files/link.txt").symlink_to(tmp_path / "private")
    (tmp_path / "wandb/latest-run").symlink_to(run)
    return tmp_path / "wandb"


def test_every_value_of_the_real_writer(folder, store, history):
    (row,) = load.load(str(folder), store.folder)["runs"]
    assert (row["run_id"], row["outcome"]) == ("abc123", "imported")
    run = query.run(store.folder, "abc123")
    assert (run["project"], run["name"], run["state"]) == ("proj", "first run", "Failed")
    assert run["config"] == {
        "lr": 0.1, "model/dim": 64, "model/layers": [1, 2], "none": None, "later": "x",
    }  # fmt: skip
    wanted = {"a": "true", "b": "true", "wandb.group": "g", "wandb.summary/best": "0.25"}
    wanted |= {"wandb.job_type": "train", "mlflow.note.content": "note"}
    assert run["tags"].items() >= (wanted | {"wandb.step_metric/val/*": "epoch"}).items()
    assert [(p.step, p.value) for p in history(store, "abc123", "loss")] == [
        (i, 1 / (i + 1)) for i in range(20)
    ]
    assert [p.value for p in history(store, "abc123", "nested.a")] == list(range(20))
    nested = [p.value for p in history(store, "abc123", "nested.b")]
    assert math.isnan(nested.pop(2)) and nested == [1.5] * 19
    assert {p.value for p in history(store, "abc123", "inf")} == {-math.inf}
    assert [(p.step, p.value) for p in history(store, "abc123", "val/acc")] == [(40, 0.5)]
    assert [(p.step, p.value) for p in history(store, "abc123", "flag")] == [(31, 1.0)]
    times = [p.time_us for p in history(store, "abc123", "loss")]
    assert times == sorted(times) and run["created_us"] <= times[0] <= run["ended_us"]
    with store.index() as index:
        ((step, one),) = series.histograms(index, "abc123", "hist")
        assert (step, one.bin_edges, one.counts) == (30, [0, 0.5, 1], [3, 4])
        assert series.strings(index, "abc123", "txt") == [(30, "hello")]
        (image,) = series.files(index, "abc123", "img")
    content = (store.artifact_folder("abc123") / image["path"]).read_bytes()
    assert image["step"] == 31 and content.startswith(b"\x89PNG")
    assert (store.artifact_folder("abc123") / "output.log").read_text() == "said\n"
    assert verify(store, "abc123")["ok"]


def test_a_link_out_of_the_source_is_refused_until_allowed(folder, store, tmp_path):
    (row,) = load.load(str(folder), store.folder)["runs"]
    reason = "files outside the source (allow their folder with --files)"
    assert [p["reason"] for p in row["problems"]] == [reason]
    blobs = [p.read_bytes() for p in (store.folder / "blobs").glob("??/*")]
    assert b"secret" not in blobs
    load.load(str(folder), store.folder, files=(str(tmp_path),))
    assert (store.artifact_folder("abc123") / "link.txt").read_text() == "secret"


def test_a_log_that_grows_is_brought_up_to_date(folder, store, history):
    """The log as it was in mid-run, then whole: as live offline runs are imported."""
    (log,) = folder.glob("offline-*/*.wandb")
    content = log.read_bytes()
    log.write_bytes(content[:5000])
    (row,) = load.load(str(folder), store.folder)["runs"]
    assert "logs cut at their end" in [p["reason"] for p in row["problems"]]
    assert query.run(store.folder, "abc123")["state"] == "Running"
    before = len(history(store, "abc123", "loss"))
    log.write_bytes(content)
    (row,) = load.load(str(folder), store.folder)["runs"]
    assert row["outcome"] == "updated" and 0 < before < 20
    assert [p.step for p in history(store, "abc123", "loss")] == list(range(20))
    run = query.run(store.folder, "abc123")
    assert (run["state"], run["tags"]["wandb.summary/best"]) == ("Failed", "0.25")


def test_a_run_that_says_no_end_long_ago_was_killed(folder, store):
    import os

    (log,) = folder.glob("offline-*/*.wandb")
    log.write_bytes(log.read_bytes()[:5000])
    os.utime(log, (1e9, 1e9))
    load.load(str(folder), store.folder)
    assert query.run(store.folder, "abc123")["state"] == "Killed"


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(7, 10_400), flip=st.none() | st.integers(7, 10_335))
def test_cut_or_flipped_never_a_wrong_record(tmp_path, cut, flip):
    whole = list(leveldb_log.records(LOG, Report()))
    content = bytearray(LOG.read_bytes())
    if flip is not None:
        content[flip] ^= 0x10
    path = tmp_path / "log"
    path.write_bytes(content[:cut])
    found = list(leveldb_log.records(path, Report()))
    assert all(record in whole for record in found)
    if flip is None:
        assert found == whole[: len(found)]


def test_records_over_several_blocks(tmp_path):
    path = tmp_path / "log"
    whole = [b"\x0a" + bytes([n % 120]) + bytes([n % 120]) * (n % 120) for n in range(3000)]
    whole.append(b"\x12\x80\x80\x10" + b"x" * (1 << 18))
    path.write_bytes(leveldb_log.HEADER + _framed(whole))
    assert list(leveldb_log.records(path, Report())) == whole


def _framed(records: list[bytes]) -> bytes:
    """The format once more, from its description: chunks never cross a block's end."""
    import struct
    import zlib

    out, block = b"", 32768
    for record in records:
        first = True
        while True:
            left = block - (len(out) + 7) % block
            if left < 7:
                out += b"\0" * left
                left = block
            part, record = record[: left - 7], record[left - 7 :]
            kind = 1 if first and not record else 2 if first else 4 if not record else 3
            crc = zlib.crc32(bytes([kind]) + part)
            out += struct.pack("<IHB", crc, len(part), kind) + part
            first = False
            if not record:
                break
    return out


def test_logs_that_cannot_be_read_are_told_and_the_others_go_on(folder, store):
    (run,) = folder.glob("offline-*")
    (run / "empty.wandb").write_bytes(b"")
    (run / "begun.wandb").write_bytes(leveldb_log.HEADER)
    (run / "other.wandb").write_bytes(b"nothing of the kind")
    result = load.load(str(folder), store.folder)
    assert not result["ok"]
    told = {row["source_id"]: row.get("error") for row in result["runs"]}
    assert told.pop("abc123") is None
    assert told.keys() == {"empty.wandb", "begun.wandb", "other.wandb"}
    assert "begun.wandb names no run" in told["begun.wandb"]
    assert "no .wandb file" in told["empty.wandb"] and "no .wandb file" in told["other.wandb"]


def test_json_that_is_none_is_kept(tmp_path):
    from seamount.tracking.importing import wandb_values

    report = Report()
    assert wandb_values.parsed("{broken", report) == "{broken"
    assert report.problems and math.isinf(wandb_values.parsed("Infinity", report))
    assert math.isnan(wandb_values.parsed(json.dumps("NaN"), report))
