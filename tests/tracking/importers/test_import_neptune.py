"""neptune-exporter's folders, written here with pyarrow in its schema, come back value by value."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seamount.tracking import query
from seamount.tracking.importing import load
from seamount.tracking.store import series

SCHEMA = pa.schema(
    [
        ("project_id", pa.string()),
        ("run_id", pa.string()),
        ("attribute_path", pa.string()),
        ("attribute_type", pa.string()),
        ("step", pa.decimal128(18, 6)),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
        ("int_value", pa.int64()),
        ("float_value", pa.float64()),
        ("string_value", pa.string()),
        ("bool_value", pa.bool_()),
        ("datetime_value", pa.timestamp("ms", tz="UTC")),
        ("string_set_value", pa.list_(pa.string())),
        ("file_value", pa.struct([("path", pa.string())])),
        (
            "histogram_value",
            pa.struct(
                [
                    ("type", pa.string()),
                    ("edges", pa.list_(pa.float64())),
                    ("values", pa.list_(pa.float64())),
                ]
            ),
        ),
    ]
)
MADE = datetime.datetime(2025, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
LONG = "metrics/" + "é" * 508  # 1,024 bytes
PROJECT = "team/speech"


def row(path: str, kind: str, value: Any, step: str | None = None, run: str = "RUN-1", ms: int = 0):
    column = {"float_series": "float", "string_series": "string", "histogram_series": "histogram"}
    column |= {"file_series": "file"}
    at = None if step is None else MADE + datetime.timedelta(milliseconds=ms)
    return {
        "project_id": PROJECT, "run_id": run, "attribute_path": path, "attribute_type": kind,
        "step": None if step is None else Decimal(step), "timestamp": at,
        f"{column.get(kind, kind)}_value": value,
    }  # fmt: skip


def write(root: Path, rows: list[dict[str, Any]], name: str = "RUN-1-0_part_0.parquet") -> Path:
    path = root / "data/team_speech-00" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), path, compression="snappy")
    return path


@pytest.fixture
def export(tmp_path):
    files = tmp_path / "export/files/team_speech-00"
    (files / "RUN-1").mkdir(parents=True)
    (files / "RUN-1/model.bin").write_bytes(b"model")
    (files / "RUN-1/s1.png").write_bytes(b"one")
    (files / "RUN-1/s2.png").write_bytes(b"two")
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (files / "link").symlink_to(tmp_path / "secret.txt")
    rows = [
        row("sys/id", "string", "SPEE-1"),
        row("sys/custom_run_id", "string", "RUN-1"),
        row("sys/experiment/name", "string", "first"),
        row("sys/owner", "string", "ann"),
        row("sys/creation_time", "datetime", MADE),
        row("sys/tags", "string_set", ["good", "été"]),
        row("sys/group_tags", "string_set", ["sweep"]),
        row("params/lr", "float", 0.1),
        row("params/layers", "int", 12),
        row("params/bias", "bool", False),
        row("params/absent", "int", None),
        row("metrics/loss", "float_series", 2.5, "0", ms=1),
        row("metrics/loss", "float_series", 1.5, "0.500001", ms=2),
        row("metrics/loss", "float_series", float("inf"), "999999999999.999999", ms=3),
        row("metrics/loss", "float_series", 1.25, "-3.25", ms=4),
        row("metrics/loss", "float_series", None, "7", ms=5),
        row(LONG, "float_series", 1.0, "1", ms=6),
        row("log", "string_series", "zeile\n☃", "1", ms=7),
        row("weights", "histogram_series",
            {"type": "COUNTING", "edges": [0.0, 0.5, 1.0], "values": [3.0, 4.0]}, "2", ms=8),
        row("dens", "histogram_series",
            {"type": "DENSITY", "edges": [-1.0, 1.0], "values": [0.5]}, "2.5", ms=8),
        row("model", "file", {"path": "RUN-1/model.bin"}),
        row("samples", "file_series", {"path": "RUN-1/s1.png"}, "1", ms=9),
        row("samples", "file_series", {"path": "RUN-1/s2.png"}, "1.5", ms=9),
        row("evil/up", "file", {"path": "../../../secret.txt"}),
        row("evil/absolute", "file", {"path": str(tmp_path / "secret.txt")}),
        row("evil/link", "file", {"path": "link"}),
        row("gone", "file", {"path": "RUN-1/gone.bin"}),
    ]  # fmt: skip
    write(tmp_path / "export", rows)
    fork = [
        row("sys/creation_time", "datetime", MADE, run="forked run/ü"),
        row("sys/forking/parent", "string", "SPEE-1", run="forked run/ü"),
        row("sys/forking/step", "float", 0.5, run="forked run/ü"),
        row("metrics/loss", "float_series", 1.0, "1", run="forked run/ü"),
    ]
    write(tmp_path / "export", fork, "forked_run-0_part_0.parquet")
    return tmp_path / "export"


def imported(export, store):
    result = load.load(str(export), store.folder)
    assert result["kind"] == "neptune_export"
    return {r["source_id"]: r for r in result["runs"]}, result


def test_every_value_is_there(export, store, history):
    rows, _ = imported(export, store)
    assert rows["RUN-1"]["outcome"] == "imported", rows
    run = query.run(store.folder, "RUN-1")
    assert (run["project"], run["name"], run["owner"]) == (PROJECT, "first", "ann")
    assert run["created_us"] == round(MADE.timestamp() * 1e6) and run["state"] == "Completed"
    assert {k: v for k, v in run["config"].items() if k.startswith("params")} == {
        "params/lr": 0.1, "params/layers": 12, "params/bias": False,
    }  # fmt: skip
    assert run["config"]["sys/creation_time"] == MADE.isoformat()
    assert run["tags"].items() >= {("good", "true"), ("été", "true"), ("group/sweep", "true")}
    points = {p.step: (p.value, p.time_us) for p in history(store, "RUN-1", "metrics/loss")}
    at = [round(MADE.timestamp() * 1e6) + 1000 * ms for ms in range(10)]
    assert math.isnan(points.pop(7)[0])
    assert points == {
        -3.25: (1.25, at[4]), 0: (2.5, at[1]), 0.500001: (1.5, at[2]),
        999999999999.999999: (math.inf, at[3]),
    }  # fmt: skip
    assert type(next(s for s in points if s == 0)) is int
    assert [p.value for p in history(store, "RUN-1", LONG)] == [1.0]


def test_texts_histograms_and_files(export, store):
    imported(export, store)
    store.refresh()
    with store.index() as index:
        assert series.strings(index, "RUN-1", "log") == [(1, "zeile\n☃")]
        ((step, counts),) = series.histograms(index, "RUN-1", "weights")
        assert (step, counts.bin_edges, counts.counts) == (2, [0, 0.5, 1], [3, 4])
        ((step, dens),) = series.histograms(index, "RUN-1", "dens")
        assert (step, dens.bin_edges, dens.densities) == (2.5, [-1, 1], [0.5])
        found = series.files(index, "RUN-1", "samples")
        assert [(f["step"], f["path"]) for f in found] == [
            (1, "samples/1.png"), (1.5, "samples/1.5.png"),
        ]  # fmt: skip
    shown = store.artifact_folder("RUN-1")
    assert (shown / "model").read_bytes() == b"model"
    assert (shown / "samples/1.5.png").read_bytes() == b"two"


def test_hostile_paths_are_refused_and_told(export, store):
    rows, _ = imported(export, store)
    told = {p["reason"]: p["count"] for p in rows["RUN-1"]["problems"]}
    assert told["files outside the source (allow their folder with --files)"] == 3
    assert told["files that are missing"] == 1
    assert told["points without a value (kept as NaN)"] == 1
    blobs = [p.read_bytes() for p in (store.folder / "blobs").glob("??/*")]
    assert b"secret" not in blobs and len(blobs) == 3


def test_forks_are_forks_and_their_histories_are_joined(export, store, history):
    rows, _ = imported(export, store)
    fork = rows["forked run/ü"]["run_id"]
    found = query.run(store.folder, fork)
    assert (found["fork_run_id"], found["fork_step"]) == ("RUN-1", 0.5)  # by its sys/id there
    assert found["tags"]["seamount.imported_id"] == "forked run/ü"
    assert "seamount.fork_run_id" not in found["tags"]
    points = [(p.step, p.value) for p in history(store, fork, "metrics/loss")]
    assert points == [(-3.25, 1.25), (0, 2.5), (1, 1.0)]  # 0.500001 is behind the fork
    again, _ = imported(export, store)
    assert again["forked run/ü"]["outcome"] == "already there"


def test_parents_come_before_their_forks_whatever_the_order_of_the_files(export, store):
    for run, parent in (("A", "B"), ("B", "C"), ("C", "RUN-1"), ("X", "Y"), ("Y", "X")):
        rows = [
            row("sys/forking/parent", "string", parent, run=run),
            row("sys/forking/step", "int", 3, run=run),
            row("metrics/loss", "float_series", 1.0, "4", run=run),
        ]
        write(export, rows, f"{run}-0_part_0.parquet")
    rows, _ = imported(export, store)
    chain = query.lineage(store.folder, "A")["ancestors"]
    assert [(a["run_id"], a["up_to"]) for a in chain] == [("B", 3), ("C", 3), ("RUN-1", 3)]
    # a circle in the source is cut where it is met, and told
    assert [a["run_id"] for a in query.lineage(store.folder, "X")["ancestors"]] == ["Y"]
    assert query.run(store.folder, "Y")["tags"]["seamount.fork_run_id"] == "X"
    (told,) = rows["Y"]["problems"]
    assert told["reason"] == "forks whose parent is not in the store (kept as tags)"


def test_a_fork_without_a_step_or_a_parent_stays_a_tag_and_is_told(export, store):
    write(export, [row("sys/forking/parent", "string", "RUN-1", run="A")], "A_part_0.parquet")
    write(export, [
        row("sys/forking/parent", "string", "GONE-7", run="B"),
        row("sys/forking/step", "float", 2.0, run="B"),
    ], "B_part_0.parquet")  # fmt: skip
    rows, _ = imported(export, store)
    assert [p["reason"] for r in "AB" for p in rows[r]["problems"]] == [
        "forks whose step is not known (kept as tags)",
        "forks whose parent is not in the store (kept as tags)",
    ]
    tags = query.run(store.folder, "B")["tags"]
    assert (tags["seamount.fork_run_id"], tags["seamount.fork_step"]) == ("GONE-7", "2")
    assert query.run(store.folder, "A")["tags"]["seamount.fork_run_id"] == "RUN-1"
    assert query.run(store.folder, "A")["fork_run_id"] is None


def test_a_corrupt_part_is_told_and_the_others_go_on(export, store):
    (export / "data/team_speech-00/x_part_0.parquet").write_bytes(b"PAR1 no parquet PAR1")
    whole = write(
        export,
        [row("a", "float_series", float(i), str(i), "B") for i in range(5000)],
        "B_part_0.parquet",
    )
    content = bytearray(whole.read_bytes())
    content[40:400] = bytes(360)  # damaged pages behind a sound footer
    whole.write_bytes(content)
    rows, result = imported(export, store)
    assert rows["RUN-1"]["outcome"] == "imported"
    failed = {run_id for run_id, row in rows.items() if row["outcome"] == "failed"}
    assert failed == {"x_part_0.parquet", "B_part_0.parquet"} and not result["ok"]


def test_an_unfinished_part_is_told(export, store):
    (export / "data/team_speech-00/RUN-2_part_0.parquet.tmp").write_bytes(b"")
    _, result = imported(export, store)
    assert [p["count"] for p in result["problems"]] == [1]


def test_imported_history_answers_neptunes_queries(export, store, monkeypatch):
    from seamount.tracking.compat import neptune_query as nq
    from seamount.tracking.compat.neptune_query import runs as nq_runs

    imported(export, store)
    monkeypatch.setenv("SEAMOUNT_TRACKING_URI", store.uri)
    monkeypatch.setenv("NEPTUNE_PROJECT", PROJECT)
    assert nq.list_experiments() == ["first"]
    assert nq_runs.list_runs() == ["RUN-1", "forked run/ü"]
    table = nq_runs.fetch_runs_table(attributes=r"^sys/ | ^params/ | ^weights$ | ^model$")
    first, fork = table.loc["RUN-1"], table.loc["forked run/ü"]
    assert (first["sys/id"], first["sys/owner"]) == ("SPEE-1", "ann")
    assert first["sys/creation_time"] == MADE
    assert (first["sys/tags"], first["sys/group_tags"]) == ({"good", "été"}, {"sweep"})
    assert (first["params/lr"], first["params/layers"], first["params/bias"]) == (0.1, 12, False)
    assert first["weights"].values == [3.0, 4.0]
    assert first["model"].size_bytes == 5
    assert fork["sys/forking/step"] == 0.5
    loss = nq_runs.fetch_metrics(runs=["RUN-1"], attributes=["metrics/loss"])["metrics/loss"]
    assert loss.loc["RUN-1"].dropna().to_dict() == {
        -3.25: 1.25, 0: 2.5, 0.500001: 1.5, 999999999999.999999: math.inf,
    }  # fmt: skip
    joined = nq_runs.fetch_metrics(runs=["forked run/ü"], attributes=["metrics/loss"])
    assert joined["metrics/loss"].to_dict() == {
        ("forked run/ü", -3.25): 1.25, ("forked run/ü", 0.0): 2.5, ("forked run/ü", 1.0): 1.0,
    }  # fmt: skip
