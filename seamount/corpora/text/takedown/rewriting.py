"""The files of a corpus once more without some documents; every other line keeps its bytes."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.corpora.text import document_index, jsonl_zst, manifest, zstd_stream
from seamount.corpora.text.takedown.selection import chosen

EXCLUDED = "excluded.parquet"
_KEPT_COLUMNS = (
    "id", "component", "digest", "source", "input", "split", "shard", "line", "bytes"
)  # fmt: skip


def rewrite_shard(
    url: str, shard: dict[str, Any], gone: dict[int, str], target: str
) -> dict[str, Any]:
    """Write `shard` (its entry in the manifest) of the corpus in `url` to `target` without the
    lines `gone` (line from 1 -> id); returns its new entry.

    Raises CorruptData where the shard is not what the build wrote, or a line is another document.
    """
    source = storage.join(url, shard["path"])
    documents: Counter[str] = Counter()
    sizes: Counter[str] = Counter()

    def kept() -> Iterator[bytes]:
        digest = hashlib.sha256()
        for number, line in enumerate(_lines(source, digest.update), 1):
            if number not in gone:
                yield line
                continue
            component, size = _removed(line, gone[number], f"{source}:{number}")
            documents[component] += 1
            sizes[component] += size
        if digest.hexdigest() != shard["sha256"] or sum(documents.values()) != len(gone):
            raise manifest.changed(source, "its SHA-256 is another")

    written = jsonl_zst.write_lines(target, kept())
    components = {
        name: {
            "documents": part["documents"] - documents[name],
            "bytes": part["bytes"] - sizes[name],
        }
        for name, part in shard["components"].items()
        if part["documents"] > documents[name]
    }
    return {
        **shard,
        "documents": written.documents,
        "bytes": shard["bytes"] - sum(sizes.values()),
        "size_bytes": written.size_bytes,
        "sha256": written.sha256,
        "components": components,
    }


def _lines(url: str, on_bytes: Callable[[bytes], None]) -> Iterator[bytes]:
    with storage.open_read(url) as stream:
        for block in zstd_stream.line_blocks(stream, url, on_bytes):
            for line in block.removesuffix(b"\n").split(b"\n"):
                yield line + b"\n"


def _removed(line: bytes, name: str, where: str) -> tuple[str, int]:
    """Component and bytes of text of a line, which must be the document `name`."""
    record = json.loads(line)
    if record["meta"]["id"] != name:
        raise CorruptData(
            f"{where} is the document {record['meta']['id']!r}, but {document_index.FILE_NAME} "
            f"says {name!r}: nothing was changed; build the corpus again"
        )
    return record["meta"]["pile_set_name"], len(record["text"].encode())


def rewrite_index(url: str, gone: dict[str, np.ndarray], target: str) -> None:
    """Write documents.parquet without the lines `gone` (by shard, sorted), the rest renumbered."""
    with (
        document_index.opened(url) as file,
        storage.atomic_write(target) as stream,
        pq.ParquetWriter(stream, file.schema_arrow, compression="zstd") as writer,
    ):
        for batch in document_index.batches(url):
            kept = batch.filter(pa.array(~chosen(batch, gone)))
            if kept.num_rows:
                writer.write_batch(_renumbered(kept, gone))


def _renumbered(batch: pa.RecordBatch, gone: dict[str, np.ndarray]) -> pa.RecordBatch:
    places = batch.column("line").to_numpy().copy()
    shards = batch.column("shard")
    for shard in pc.unique(shards).to_pylist():
        if shard in gone:
            here = pc.equal(shards, shard).to_numpy(zero_copy_only=False)
            places[here] -= np.searchsorted(gone[shard], places[here])
    number = batch.schema.get_field_index("line")
    column = pa.array(places, batch.schema.field(number).type)
    columns = [column if i == number else c for i, c in enumerate(batch.columns)]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def add_to_excluded(url: str, rows: pa.Table, number: int, target: str) -> None:
    """Write excluded.parquet: what was excluded before, and `rows` as exclusion `number`.

    It holds no text: ids, digests and places at the time of the exclusion.
    """
    mine = rows.select([name for name in _KEPT_COLUMNS if name in rows.column_names])
    mine = mine.append_column("exclusion", pa.array(np.full(mine.num_rows, number)))
    before = excluded_rows(url)
    together = mine if before is None else pa.concat_tables([before.cast(mine.schema), mine])
    with storage.atomic_write(target) as stream:
        pq.write_table(together, stream, compression="zstd")


def excluded_rows(url: str) -> pa.Table | None:
    """excluded.parquet of the corpus in `url`; None where nothing was ever excluded.

    A file that the manifest knows nothing of was left by a corpus that stood here before.
    """
    path = storage.join(url, EXCLUDED)
    if not manifest.load_manifest(url).get("exclusions") or not storage.exists(path):
        return None
    with storage.open_read(path) as stream:
        return pq.read_table(stream)


def rewrite_samples(url: str, takes: Callable[[dict[str, Any]], bool], target: str) -> int:
    """Write a *.jsonl.gz of --keep-dropped without the records that `takes`; how many went.

    Nothing is written where none goes.
    """
    gone = sum(takes(json.loads(line)) for line in _packed_lines(url))
    if not gone:
        return 0
    with (
        storage.atomic_write(target) as stream,
        gzip.GzipFile("", "wb", 1, stream, mtime=0) as packed,
    ):
        for line in _packed_lines(url):
            if not takes(json.loads(line)):
                packed.write(line)
    return gone


def _packed_lines(url: str) -> Iterator[bytes]:
    try:
        with storage.open_read(url) as stream, gzip.GzipFile(fileobj=stream) as lines:
            yield from lines
    except (EOFError, gzip.BadGzipFile) as error:
        raise CorruptData(f"{url} is damaged ({error}): build the corpus again") from error
