"""Stages 4 and 5, the global shuffle: each batch is scattered to shards, each shard gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.core.errors import SeamountError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst, zstd_stream
from seamount.corpora.text.stages import clean, stage
from seamount.corpora.text.stages.placing import copy_id

DATA, SHARD, DROPPED = "data", "shard", "dropped.jsonl.gz"
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
    with storage.open_read(storage.join(mixed, f"{number}.parquet")) as stream:
        rows = pq.read_table(stream).to_pylist()
    with (
        storage.atomic_write(storage.join(where, DATA)) as target,
        clean.dropped_writer(storage.join(where, DROPPED), rules.keep_dropped) as dropped,
    ):
        runs = _Runs(target)
        wanted = iter(rows)
        row = next(wanted, None)
        for index, line in enumerate(_lines(storage.join(source, clean.DOCUMENTS))):
            while row is not None and row["row"] == index:
                if row["shard"] < 0:
                    dropped(_parse(line), row["reason"])
                else:
                    runs.add(row["shard"], row["line"], _numbered(line, row["copy"]))
                row = next(wanted, None)
        runs.flush()
    return {"documents": runs.documents, "bytes": runs.bytes, "runs": runs.runs}


class _Runs:
    """Collects lines by shard and writes a frame for each whenever enough have come."""

    def __init__(self, target: Any) -> None:
        self.target = zstd_stream.HashingWriter(target)
        self.waiting: dict[int, list[bytes]] = {}
        self.room = _FLUSH_BYTES
        self.runs: list[list[int]] = []
        self.documents = self.bytes = 0

    def add(self, shard: int, place: int, line: bytes) -> None:
        self.waiting.setdefault(shard, []).append(b"%0*d" % (_PLACE_DIGITS, place) + line)
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
    lines = [line[_PLACE_DIGITS:] for line in numbered]
    size, components = _count(lines)
    if (len(lines), size) != (task.documents, task.bytes):
        raise SeamountError(
            f"shard {task.path} should have {task.documents} documents and {task.bytes} bytes of "
            f"text, but {len(lines)} and {size} arrived; remove the folder {stage.WORK} below the "
            "output and build again"
        )
    written = jsonl_zst.write_lines(storage.join(where, SHARD), lines)
    return {
        "path": task.path,
        "split": task.split,
        "documents": task.documents,
        "bytes": task.bytes,
        "size_bytes": written.size_bytes,
        "sha256": written.sha256,
        "components": components,
    }


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


def _count(lines: list[bytes]) -> tuple[int, dict[str, dict[str, int]]]:
    documents: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for line in lines:
        record = msgspec.json.decode(line)
        component = record["meta"]["pile_set_name"]
        documents[component] += 1
        sizes[component] += len(record["text"].encode())
    components = {c: {"documents": documents[c], "bytes": sizes[c]} for c in sorted(documents)}
    return sum(sizes.values()), components
