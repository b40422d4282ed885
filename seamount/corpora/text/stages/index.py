"""What a batch keeps of each document that passed: its index row, digest, band keys and sketch.

BATCH/index.parquet has a row a document; BATCH/bands/00000 ... a sorted band file a segment. Both
are written and read a segment at a time, so memory does not grow with an input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from seamount.core import storage
from seamount.core.records import Document
from seamount.corpora.text.dedupe import band_files, minhash
from seamount.corpora.text.dedupe.band_files import BandFile
from seamount.corpora.text.stages import stage

FILE_NAME, BANDS = "index.parquet", "bands"
SEGMENT = 1 << 16
SCHEMA = pa.schema(
    {
        "input": pa.string(),
        "id": pa.string(),
        "component": pa.string(),
        "source": pa.string(),
        "digest": pa.binary(16),
        "bytes": pa.int64(),
        "order": pa.uint64(),  # a hash of the id, by which documents are shuffled
    }
)


class IndexWriter:
    """Takes documents one by one, in order."""

    def __init__(self, folder: str, table: pq.ParquetWriter, near: bool) -> None:
        self.folder, self.table = folder, table
        self.signer = minhash.Signer() if near else None
        self.documents = self.bytes = self.segments = 0
        self._clear()

    def add(self, document: Document, data: bytes, input_name: str) -> None:
        """Add the next document; `data` is its text in UTF-8."""
        name = document.id.encode("utf-8", "surrogatepass")
        row = (
            input_name,
            document.id,
            document.component,
            document.source,
            xxhash.xxh3_128_digest(data),
            len(data),
            xxhash.xxh3_64_intdigest(name),
        )
        self.rows.append(row)
        if self.signer is not None:
            self._sign(data)
        self.documents += 1
        self.bytes += len(data)
        if len(self.rows) == SEGMENT:
            self.flush()

    def _sign(self, data: bytes) -> None:
        assert self.signer is not None
        signature = self.signer.sign(data)
        self.sketches.append(minhash.sketch(signature).tobytes())
        if minhash.has_words(signature):
            self.keys.append(minhash.band_keys(signature).tobytes())
            self.with_words.append(len(self.rows) - 1)

    def flush(self) -> None:
        """Write what has come since the last time."""
        if not self.rows:
            return
        columns = list(zip(*self.rows, strict=True))
        arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
        self.table.write_table(pa.table(arrays, schema=SCHEMA))
        with storage.atomic_write(_band_url(self.folder, self.segments)) as stream:
            band_files.write(
                stream,
                b"".join(columns[4]),
                np.frombuffer(b"".join(self.keys), np.uint64).reshape(-1, minhash.BANDS),
                np.array(self.with_words, np.uint32),
                np.frombuffer(b"".join(self.sketches), np.uint8).reshape(-1, minhash.HASHES),
            )
        self.segments += 1
        self._clear()

    def _clear(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.keys: list[bytes] = []
        self.sketches: list[bytes] = []
        self.with_words: list[int] = []


@contextmanager
def writer(folder: str, near: bool) -> Iterator[IndexWriter]:
    """Write the index of a batch; `near` says whether near copies will be looked for."""
    with (
        storage.atomic_write(storage.join(folder, FILE_NAME)) as stream,
        pq.ParquetWriter(stream, SCHEMA, compression="zstd") as table,
    ):
        index = IndexWriter(folder, table, near)
        yield index
        index.flush()


def parts(folder: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Index rows of a batch in their order, at most a segment of them at a time."""
    with storage.open_read(storage.join(folder, FILE_NAME)) as stream:
        yield from pq.ParquetFile(stream).iter_batches(SEGMENT, columns=list(columns))


def numbered_parts(
    cleaned: Sequence[stage.Done], columns: Sequence[str]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Parts of all batches, each with the number of its first document in the corpus."""
    first = 0
    for done in cleaned:
        for part in parts(done.folder, columns):
            yield first, part
            first += part.num_rows


def open_bands(cleaned: Sequence[stage.Done]) -> list[BandFile]:
    """The band files of all batches, numbered through."""
    files: list[BandFile] = []
    first = 0
    for done in cleaned:
        for segment in range(-(-done.documents // SEGMENT)):
            files.append(BandFile.open(_band_url(done.folder, segment), first))
            first += files[-1].documents
    return files


def _band_url(folder: str, segment: int) -> str:
    return storage.join(folder, BANDS, f"{segment:05d}")
