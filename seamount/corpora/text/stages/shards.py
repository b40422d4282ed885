"""Stages 4 and 5, the global shuffle: each batch is scattered to shards, each shard gathered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.core.errors import SeamountError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst, zstd_stream
from seamount.corpora.text.stages import clean, index, stage
from seamount.corpora.text.stages.placing import copy_id

DATA, SHARD, ROWS, DROPPED = "data", "shard", "rows.parquet", "dropped.jsonl.gz"
# A row for each line of the corpus, in its order.
DOCUMENTS_SCHEMA = pa.schema(
    {
        "id": pa.string(),
        "component": pa.string(),
        "digest": pa.string(),
        "source": pa.string(),
        "input": pa.string(),
        "split": pa.string(),
        "shard": pa.string(),
        "line": pa.int64(),
        "bytes": pa.int64(),
    }
)
_FLUSH_BYTES = 64 << 20
_SCRATCH_LEVEL = 1
_PLACE_DIGITS = 12


@dataclass(frozen=True)
class ShardTask:
    """One shard to gather: its number, and path, split, documents and bytes it must have."""

    number: int
    path: str
    split: str
    documents: int
    bytes: int


def tasks(mixed: stage.Done) -> list[ShardTask]:
    """The shards that the mixture decided on."""
    return [ShardTask(n, **shard) for n, shard in enumerate(stage.result_of(mixed)["shards"])]


def scatter(
    number: int, cleaned: Sequence[stage.Done], mixed: stage.Done, rules: stage.Rules, work: str
) -> stage.Done:
    """Sort the lines of cleaned batch `number` by shard, into WORK/scatter/<key>/.

    `data` is a row of zstd frames; result.json says which shard each belongs to.
    """
    key = stage.combined_key("scatter", mixed.folder, number)
    folder = storage.join(work, "scatter", key)
    source = cleaned[number].folder
    return stage.run(folder, lambda where: _scatter(source, mixed.folder, number, rules, where))


def _scatter(
    source: str, mixed: str, number: int, rules: stage.Rules, where: str
) -> dict[str, Any]:
    with (
        storage.atomic_write(storage.join(where, DATA)) as target,
        clean.dropped_writer(storage.join(where, DROPPED), rules.keep_dropped) as dropped,
    ):
        runs = _Runs(target)
        wanted = _rows(storage.join(mixed, f"{number}.parquet"))
        row = next(wanted, None)
        lines = _lines(storage.join(source, clean.DOCUMENTS))
        for number, (line, origin) in enumerate(zip(lines, _origins(source), strict=True)):
            while row is not None and row[_ROW] == number:
                _, copy, shard, place, reason = row
                if shard < 0:
                    dropped(_parse(line), reason)
                else:
                    runs.add(shard, place, origin, _numbered(line, copy))
                row = next(wanted, None)
        runs.flush()
    return {"documents": runs.documents, "bytes": runs.bytes, "runs": runs.runs}


_ROW = 0


def _rows(url: str) -> Iterator[tuple[int, int, int, int, str]]:
    """Row, copy, shard, line and reason of every row of a batch, in order."""
    with storage.open_read(url) as stream:
        for part in pq.ParquetFile(stream).iter_batches():
            columns = (part[n].to_pylist() for n in ("row", "copy", "shard", "line", "reason"))
            yield from zip(*columns, strict=True)


def _origins(source: str) -> Iterator[bytes]:
    """What documents.parquet says of each document beyond its line: digest, source, input."""
    for part in index.parts(source, ("digest", "source", "input")):
        columns = (part[n].to_pylist() for n in ("digest", "source", "input"))
        for digest, place, name in zip(*columns, strict=True):
            yield msgspec.json.encode((digest.hex(), place, name))


class _Runs:
    """Collects lines by shard and writes a frame for each whenever enough have come."""

    def __init__(self, target: Any) -> None:
        self.target = zstd_stream.HashingWriter(target)
        self.waiting: dict[int, list[bytes]] = {}
        self.room = _FLUSH_BYTES
        self.runs: list[list[int]] = []
        self.documents = self.bytes = 0

    def add(self, shard: int, place: int, origin: bytes, line: bytes) -> None:
        # JSON holds no raw tab, so a tab parts the three.
        entry = b"%0*d\t%b\t%b" % (_PLACE_DIGITS, place, origin, line)
        self.waiting.setdefault(shard, []).append(entry)
        self.documents += 1
        self.bytes += len(line)
        self.room -= len(line)
        if self.room < 0:
            self.flush()

    def flush(self) -> None:
        for shard in sorted(self.waiting):
            start = self.target.size_bytes
            with zstd_stream.line_writer(self.target, _SCRATCH_LEVEL) as frame:
                for line in self.waiting[shard]:
                    frame.write(line)
            self.runs.append([shard, start, self.target.size_bytes - start])
        self.waiting, self.room = {}, _FLUSH_BYTES


def _lines(url: str) -> Iterator[bytes]:
    with storage.open_read(url) as stream:
        for block in zstd_stream.line_blocks(stream, url):
            yield from _split(block)


def _split(block: bytes) -> list[bytes]:
    return [line + b"\n" for line in block.removesuffix(b"\n").split(b"\n")]


def _parse(line: bytes) -> Document:
    record = msgspec.json.decode(line)
    meta = record["meta"]
    component, name = meta.pop("pile_set_name"), meta.pop("id")
    return Document(record["text"], component, name, "", meta)


def _numbered(line: bytes, copy: int) -> bytes:
    """The line, with the id of its copy where the document is repeated."""
    if copy == 0:
        return line
    document = _parse(line)
    return jsonl_zst.encode_line(replace(document, id=copy_id(document.id, copy)))


def gather(
    task: ShardTask, scattered: Sequence[stage.Done], mixed: stage.Done, work: str
) -> stage.Done:
    """Write one final shard into WORK/gather/<key>/shard, its lines in their places.

    Memory: the text of one shard. Every line is parsed and counted against what was decided.
    """
    key = stage.combined_key("gather", mixed.folder, task.number)
    folder = storage.join(work, "gather", key)
    return stage.run(folder, lambda where: _gather(task, [d.folder for d in scattered], where))


def _gather(task: ShardTask, folders: list[str], where: str) -> dict[str, Any]:
    numbered = sorted(line for folder in folders for line in _run_lines(folder, task.number))
    parts = [entry.split(b"\t", 2) for entry in numbered]
    del numbered
    lines = [line for _, _, line in parts]
    table = _table(task, [origin for _, origin, _ in parts], lines)
    size = pc.sum(table["bytes"]).as_py() or 0
    if (len(lines), size) != (task.documents, task.bytes):
        raise SeamountError(
            f"shard {task.path} should have {task.documents} documents and {task.bytes} bytes of "
            f"text, but {len(lines)} and {size} arrived; remove the folder {stage.WORK} below the "
            "output and build again"
        )
    with storage.atomic_write(storage.join(where, ROWS)) as stream:
        pq.write_table(table, stream, compression="zstd")
    written = jsonl_zst.write_lines(storage.join(where, SHARD), lines)
    return {
        "path": task.path,
        "split": task.split,
        "documents": task.documents,
        "bytes": task.bytes,
        "size_bytes": written.size_bytes,
        "sha256": written.sha256,
        "components": _components(table),
    }


def _table(task: ShardTask, origins: list[bytes], lines: list[bytes]) -> pa.Table:
    """The shard's rows of documents.parquet; every line is parsed and its text measured."""
    records = [msgspec.json.decode(line) for line in lines]
    found = [msgspec.json.decode(origin) for origin in origins]
    columns = {
        "id": [record["meta"]["id"] for record in records],
        "component": [record["meta"]["pile_set_name"] for record in records],
        "digest": [digest for digest, _, _ in found],
        "source": [source for _, source, _ in found],
        "input": [name for _, _, name in found],
        "split": [task.split] * len(records),
        "shard": [task.path] * len(records),
        "line": range(1, len(records) + 1),
        "bytes": [len(record["text"].encode()) for record in records],
    }
    return pa.table([columns[name] for name in DOCUMENTS_SCHEMA.names], schema=DOCUMENTS_SCHEMA)


def _run_lines(folder: str, shard: int) -> Iterator[bytes]:
    url = storage.join(folder, DATA)
    runs = [run for run in stage.result_of(folder)["runs"] if run[0] == shard]
    if not runs:
        return
    with storage.open_read(url) as stream:
        for _, start, length in runs:
            stream.seek(start)
            frame = zstd_stream.decompress_frame(stream.read(length), url)
            yield from _split(frame)


def _components(table: pa.Table) -> dict[str, dict[str, int]]:
    found = table.group_by("component").aggregate([("bytes", "count"), ("bytes", "sum")])
    rows = sorted(found.to_pylist(), key=lambda row: row["component"])
    return {
        row["component"]: {"documents": row["bytes_count"], "bytes": row["bytes_sum"]}
        for row in rows
    }
