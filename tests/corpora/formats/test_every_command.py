"""What works on files of jsonl.zst works on the other forms, with the same result."""

from __future__ import annotations

import hashlib
import itertools
import json
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import fsspec
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from packing_forms import LINE_FORMS, gzip_tool, line, read, texts

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import dry_run, formats, gzip_stream, located, ranges, zstd_stream
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.manifest import load_manifest
from seamount.evaluation.held_out import held_out

SUFFIXES = [*LINE_FORMS, ".json.gz", ".parquet"]
each_form = pytest.mark.parametrize("suffix", SUFFIXES)


def records(count: int, seed: int = 0) -> list[dict[str, Any]]:
    random = Random(seed)
    made = []
    for number in range(count):
        text = " ".join(f"w{random.randrange(2000)}" for _ in range(random.randint(20, 200)))
        component = ("Github", "ArXiv", "EuroParl")[number % 3]
        meta = {"id": f"{seed}-{number}", "pile_set_name": component, "year": 1990 + number % 30}
        made.append({"text": text, "meta": meta})
    return made


def store(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        columns = {"text": [r["text"] for r in rows], "meta": [json.dumps(r["meta"]) for r in rows]}
        pq.write_table(pa.table(columns), path, row_group_size=16)
        return path
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    ends = {".json.gz": gzip_tool, **LINE_FORMS}
    path.write_bytes(next(pack for end, pack in ends.items() if path.name.endswith(end))(data))
    return path


@pytest.fixture(scope="module")
def from_zst(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("zst")
    return _built(folder, ".jsonl.zst")


def _built(folder: Path, suffix: str) -> dict[str, Any]:
    for number in range(2):
        store(folder / f"in/{number}{suffix}", records(60, number))
    build_corpus(CorpusRequest((str(folder / "in"),), str(folder / "out")))
    return load_manifest(str(folder / "out"))


@each_form
def test_a_build_of_any_form_gives_the_same_corpus(
    suffix: str, tmp_path: Path, from_zst: dict[str, Any]
) -> None:
    content = _built(tmp_path, suffix)
    assert content["shards"] == from_zst["shards"]  # digests of the shards among the rest
    rows = content["ledger"]["inputs"]
    for row, file in zip(rows, sorted((tmp_path / "in").iterdir()), strict=True):
        assert row["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


@each_form
def test_commands(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = records(90)
    for name, part in {"train/00": rows[:70], "val": rows[70:80], "test": rows[80:]}.items():
        store(tmp_path / "in" / f"{name}{suffix}", part)
    found, out = tmp_path / "in", tmp_path / "out.json"
    assert run("corpus", "check", found, "--json", out) == 0
    files = json.loads(out.read_text())["files"]
    assert sorted(f["documents"] for f in files) == [10, 10, 70]
    assert not any(f["error"] or f["quarantined"] for f in files)
    assert run("corpus", "audit", found, "--json", out) == 0
    assert json.loads(out.read_text())["documents"] == 90
    assert run("corpus", "find", "0-85", found, "--json", out) == 0
    assert "0-85" in out.read_text()
    capsys.readouterr()
    shards = ranges.shards_of(str(found), "train")
    assert [s.lines for s in shards] == [70]
    got = [d.id for d in ranges.read_lines(shards, 33, 52) if isinstance(d, Document)]
    assert got == [r["meta"]["id"] for r in rows[33:52]]
    scored = list(held_out(str(found / f"test{suffix}"), "test").documents())
    assert [d.text for d in scored] == [r["text"] for r in rows[80:]]
    places = [(Path(one.shard).name, one.line) for one in located.located_documents(str(found))]
    assert places[:10] == [(f"test{suffix}", n) for n in range(1, 11)]


@each_form
def test_a_dry_run_of_any_form(suffix: str, tmp_path: Path) -> None:
    rows = records(1200)
    for number in range(3):
        store(tmp_path / f"in/{number}{suffix}", rows[number::3])
    request = CorpusRequest((str(tmp_path / "in"),), str(tmp_path / "out"))
    size = sum(len(row["text"].encode()) for row in rows)
    whole = dry_run.predict(request, sample_bytes=100_000_000)
    assert (whole["corpus"]["documents"], whole["corpus"]["bytes"]) == (1200, size)
    part = dry_run.predict(request, sample_bytes=30_000)
    assert part["sample"]["documents"] < 1200
    assert part["corpus"]["bytes"] == pytest.approx(size, rel=0.1)


def test_a_broken_file_is_told_and_its_good_records_may_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = store(tmp_path / "in/a.jsonl.gz", records(90))
    path.write_bytes(path.read_bytes()[:-20])
    assert run("corpus", "check", path) == 1
    build = ("corpus", "build", "--source", path, "--out", tmp_path / "c")
    assert run(*build) == 1
    assert "cut short" in capsys.readouterr().err
    assert run(*build, "--allow-broken") == 0
    row = load_manifest(str(tmp_path / "c"))["ledger"]["inputs"][0]
    assert "cut short" in row["error"] and row["in"]["documents"] > 50


def test_what_stands_beside_the_shards_of_a_built_corpus_is_no_input(tmp_path: Path) -> None:
    rows = [*records(30), {"text": " ", "meta": {"id": "empty"}}]
    store(tmp_path / "in/a.jsonl.gz", rows)
    corpus = tmp_path / "all/corpus"
    build_corpus(CorpusRequest((str(tmp_path / "in"),), str(corpus), keep_dropped=True))
    assert list(corpus.glob("*.parquet")) and list(corpus.glob("dropped/*.jsonl.gz"))
    shards = sorted(str(p) for p in corpus.rglob("*.jsonl.zst"))
    assert formats.list_inputs(str(corpus)) == shards
    foreign = tmp_path / "all/foreign"
    store(foreign / "b.parquet", records(3))
    (foreign / "manifest.json").write_text('{"files": ["b.parquet"]}')
    assert formats.list_inputs(str(tmp_path / "all")) == [*shards, str(foreign / "b.parquet")]


def test_what_is_listed(tmp_path: Path) -> None:
    for name in ("b.jsonl.gz", "a.parquet", "sub/c.jsonl", "c4.json.gz", ".hidden.jsonl"):
        store(tmp_path / name, records(1))
    (tmp_path / "notes.txt").write_text("no corpus")
    (tmp_path / "config.json").write_text("{}")
    found = [str(Path(u).relative_to(tmp_path)) for u in formats.list_inputs(str(tmp_path))]
    assert found == ["a.parquet", "b.jsonl.gz", "c4.json.gz", "sub/c.jsonl"]
    with pytest.raises(UserError, match=r"nor called one of \*.jsonl.zst, "):
        formats.list_inputs(str(tmp_path / "notes.txt"))


def test_ids_are_made_of_names_and_numbers(tmp_path: Path) -> None:
    for suffix in LINE_FORMS:
        path = tmp_path / f"x{suffix}"
        path.write_bytes(LINE_FORMS[suffix](line("a") + b"\n" + line("b")))
        assert [d.id for d in read(path)[0]] == ["x:1", "x:3"]
    pq.write_table(pa.table({"text": ["a", None, "b"]}), tmp_path / "x.parquet")
    documents = read(tmp_path / "x.parquet")[0]
    assert [d.id for d in documents] == ["x:1", "x:3"]
    assert documents[1].source == f"{tmp_path}/x.parquet:3"


@each_form
def test_from_any_line_on(suffix: str, tmp_path: Path) -> None:
    path = store(tmp_path / f"x{suffix}", records(50))
    for start in (1, 2, 16, 17, 18, 49, 50, 51, 60):
        ids = [d.id for d in read(path, start_line=start)[0]]
        assert ids == [f"0-{n}" for n in range(start - 1, 50)]


def test_parquet_of_other_writers(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    frame = pandas.DataFrame(
        {
            "id": ["a", "b"],
            "text": pandas.Categorical(["same", "same"]),
            "pile_set_name": ["ArXiv", None],
            "when": pandas.to_datetime(["2020-01-02T03:04:05", None]),
            "score": [1.5, 2.0],
        }
    )
    frame.to_parquet(path, index=False)
    first, second = read(path)[0]
    assert (first.id, first.component, first.text) == ("a", "ArXiv", "same")
    assert first.meta == {"when": "2020-01-02T03:04:05", "score": 1.5}
    assert (second.id, second.component, second.meta) == ("b", "unknown", {"score": 2.0})


def test_meta_as_a_struct(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    metas = [
        {"pile_set_name": "ArXiv", "id": "i", "tags": ["a"]},
        {"pile_set_name": "Github"},
        None,
    ]
    columns = {"url": ["u"] * 3, "text": ["1", "2", "3"], "meta": metas}
    pq.write_table(pa.table(columns), path, compression="zstd")
    documents = read(path)[0]
    assert [(d.component, d.id, d.meta) for d in documents] == [
        ("ArXiv", "i", {"tags": ["a"]}),
        ("Github", "x:2", {}),
        ("unknown", "x:3", {}),
    ]


def test_metadata_of_every_type_can_be_written_as_json(tmp_path: Path) -> None:
    import datetime
    import decimal

    path = tmp_path / "x.parquet"
    stamp = datetime.datetime(2020, 1, 2, 3, 4, 5, 678900, datetime.UTC)
    columns = {
        "text": ["t"],
        "raw": [b"\xff\0"],
        "stamp": [stamp],
        "nano": pa.array([1_577_934_245_123_456_789], pa.timestamp("ns")),
        "day": [stamp.date()],
        "money": [decimal.Decimal("1.50")],
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
    }
    pq.write_table(pa.table(columns), path)
    (document,) = read(path)[0]
    meta = json.loads(json.dumps(document.meta))
    assert meta.pop("nano").startswith("2020-01-02T03:04:05.123456")
    assert meta == {
        "raw": "/wA=",
        "stamp": "2020-01-02T03:04:05.678900+00:00",
        "day": "2020-01-02",
        "money": "1.50",
        "map": [["k", 1]],
    }


def test_parquet_is_read_in_bounded_memory(tmp_path: Path) -> None:
    """One row group of 200 MB, whose batches are freed one by one."""
    path = tmp_path / "x.parquet"
    text = "one more word " * 1000
    columns = {"text": [f"{n} {text}" for n in range(14_000)]}
    pq.write_table(
        pa.table(columns), path, row_group_size=20_000, use_dictionary=False, compression="none"
    )
    del columns
    assert pq.read_metadata(path).num_row_groups == 1
    before, most, count = pa.total_allocated_bytes(), 0, 0
    tracemalloc.start()
    for _ in formats.read(str(path)):
        count += 1
        most = max(most, pa.total_allocated_bytes() - before)
    most += tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 14_000
    assert most < 60_000_000


def test_gzip_is_read_in_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip_tool(line("x" * 2000) * 30_000))  # 60 MB
    tracemalloc.start()
    count = sum(1 for _ in formats.read(str(path)))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 30_000 and most < 30_000_000


@given(
    data=st.binary(max_size=3000),
    cuts=st.lists(st.integers(0, 3000), max_size=4),
    step=st.integers(1, 700),
)
def test_gzip_members_cut_and_read_anyhow(data: bytes, cuts: list[int], step: int) -> None:
    import gzip
    import io

    borders = [0, *sorted(min(c, len(data)) for c in cuts), len(data)]
    packed = b"".join(gzip.compress(data[a:b]) for a, b in itertools.pairwise(borders))

    class Trickle(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or step, step))

    seen: list[bytes] = []
    reader = gzip_stream.Reader(Trickle(packed), "x", seen.append)
    assert b"".join(zstd_stream.pieces_of(reader)) == data
    assert b"".join(seen) == packed and reader.used == len(packed)


@each_form
def test_from_a_store_that_is_no_disk(suffix: str, tmp_path: Path) -> None:
    path = store(tmp_path / f"x{suffix}", records(20))
    fsspec.filesystem("memory").pipe(f"/forms/x{suffix}", path.read_bytes())
    try:
        found = formats.list_inputs("memory://forms")
        got = [d.text for url in found for d in formats.read(url) if isinstance(d, Document)]
    finally:
        fsspec.filesystem("memory").rm("/forms", recursive=True)
    assert got == texts(path) == [r["text"] for r in records(20)]
