"""Event files: golden/ was written by tensorboard 2.21 (benchmarks/import_peers.py --keep)."""

from __future__ import annotations

import math
import shutil
import struct
from pathlib import Path

import pytest
from event_log import crc32c, event, write_scalars
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamount.tracking import query
from seamount.tracking.importing import load, tfrecord
from seamount.tracking.importing.records import Report
from seamount.tracking.store import series
from seamount.tracking.store.verify import verify

GOLDEN = Path(__file__).parent / "golden/events.out.tfevents.1700000000.host.1.0"
START_US = 1_700_000_000_250_000


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs/exp ü/train"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN, folder)
    return tmp_path / "logs"


def f32(value: float) -> float:
    return struct.unpack("<f", struct.pack("<f", value))[0]


def test_every_value_of_the_real_writer(logs, store, history):
    (row,) = load.load(str(logs), store.folder)["runs"]
    assert row["outcome"] == "imported" and not row["problems"]
    run_id = row["run_id"]
    points = [(p.step, p.value, p.time_us) for p in history(store, run_id, "loss")]
    told = [(2 * i, f32(1 / (i + 1)), START_US + i * 1_000_000) for i in range(20)]
    told += [(4, 9.0, START_US + 30_000_000)] * 2  # logged twice, there twice
    assert points == sorted(told, key=lambda p: (p[0], p[2]))
    odd = [p.value for p in history(store, run_id, "odd/u")]
    assert math.isnan(odd[3]) and odd[4] == math.inf and odd[5:] == list(range(5, 20))
    run = query.run(store.folder, run_id)
    assert (run["project"], run["name"], run["state"]) == ("logs", "exp ü/train", "Failed")
    assert run["ended_us"] == START_US + 99_000_000
    assert run["config"].items() >= {("lr", 0.1), ("opt", "adam"), ("b", True)}
    with store.index() as index:
        ((step, old),) = series.histograms(index, run_id, "old")
        assert (step, old.bin_edges) == (7, [-2, 0, 1, 2, 4]) and old.counts == [1, 2, 2, 1]
        ((step, new),) = series.histograms(index, run_id, "new")
        assert (step, new.bin_edges) == (8, [0, 2.25, 4.5, 6.75, 9]) and new.counts == [3, 2, 2, 3]
        assert series.strings(index, run_id, "note") == [(9, "héllo **x**")]
        (image,) = series.files(index, run_id, "img")
    assert (image["step"], image["mime"]) == (10, "image/png")
    path = store.artifact_folder(run_id) / image["path"]
    assert path.read_bytes() == b"\x89PNG\r\n\x1a\nx"
    assert verify(store, run_id)["ok"]


def test_checksums_against_the_standards_vectors():
    """RFC 3720, appendix B.4, and the check value of the CRC catalogue."""
    vectors = {bytes(32): 0x8A9136AA, b"\xff" * 32: 0x62A8AB43, b"123456789": 0xE3069283}
    for data, value in vectors.items():
        assert tfrecord._by_table(data) == value == crc32c(data)


def test_a_damaged_record_is_passed_over_and_told(tmp_path, store, history):
    path = write_scalars(tmp_path / "logs/a", [("x", float(i), i, 1.7e9) for i in range(9)])
    content = bytearray(path.read_bytes())
    content[len(content) // 9 * 4 + 20] ^= 1  # in the data of the fifth
    path.write_bytes(content)
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert [p.step for p in history(store, "a", "x")] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert [(p["reason"], p["count"]) for p in row["problems"]] == [
        ("damaged records (left out)", 1)
    ]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, 2037), flip=st.none() | st.integers(0, 2036))
def test_cut_or_flipped_never_a_wrong_record(tmp_path, cut, flip):
    content = bytearray(GOLDEN.read_bytes())
    whole = list(tfrecord.records(GOLDEN, Report()))
    if flip is not None:
        content[flip] ^= 0x10
    path = tmp_path / "events"
    path.write_bytes(content[:cut])
    report = Report()
    found = list(tfrecord.records(path, report))
    assert all(record in whole for record in found)
    ends = [0]
    for record in whole:
        ends.append(ends[-1] + len(record) + 16)
    if flip is None:
        assert found == whole[: sum(end <= cut for end in ends) - 1]
        assert bool(report.problems) == (cut not in ends)


def test_too_many_bins_and_unknown_plugins_are_kept_as_files(tmp_path, store):
    from event_log import blob, varint

    def doubles(number, values):
        return blob(number, struct.pack(f"<{len(values)}d", *values))

    edges, counts = [float(i) for i in range(1, 701)], [1.0] * 700
    histogram = doubles(6, edges) + doubles(7, counts)
    extremes = b"".join(
        varint(n << 3 | 1) + struct.pack("<d", v) for n, v in ((1, 0.0), (2, 700.0), (3, 700.0))
    )
    tensor = varint(1 << 3) + varint(1) + blob(5, struct.pack("<3f", 1, 2, 3))
    meta = blob(9, blob(1, blob(1, b"pr_curves")))
    values = blob(1, blob(1, b"many") + blob(5, extremes + histogram))
    values += blob(1, blob(1, b"curve") + meta + blob(8, tensor))
    folder = tmp_path / "logs/a"
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1.h").write_bytes(event(blob(5, values), 3, 1.7e9))
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    reasons = sorted(p["reason"] for p in row["problems"])
    assert reasons[0].startswith("histograms kept as JSON files")
    assert reasons[1] == "values of the plugin 'pr_curves' (kept as files)"
    shown = store.artifact_folder("a")
    import json

    assert json.loads((shown / "many/3.json").read_text())["edges"] == [0.0, *edges]
    assert (shown / "curve/3.pb").read_bytes() == tensor


def test_a_tag_cannot_leave_the_store(tmp_path, store):
    from event_log import blob

    image = blob(1, blob(1, b"../../../out") + blob(4, blob(4, b"\x89PNG")))
    folder = tmp_path / "logs/a"
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1.h").write_bytes(event(blob(5, image), 3, 1.7e9))
    before = {p for p in tmp_path.rglob("*") if store.folder not in p.parents}
    (row,) = load.load(str(tmp_path / "logs"), store.folder)["runs"]
    assert row["outcome"] == "imported" and row["problems"]
    assert before == {p for p in tmp_path.rglob("*") if store.folder not in p.parents}
    inside = [p for p in store.artifact_folder("a").rglob("*.png")]
    assert [p.read_bytes() for p in inside] == [b"\x89PNG"]
