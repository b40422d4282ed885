"""Bytes that go out of documents: a table of them, whoever decided, and their taking away.

A table has a row a piece: `number` of the document, bytes [`start`, `end`) of its text in UTF-8,
and `kind`, sorted by number and start, disjoint, and cut between characters. In the dedupe folder
`number` counts through all batches in the order of reading; beside the rows that mix writes for a
batch it counts within the batch. A document of which nothing is left is cut as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from seamount.core import storage
from seamount.core.errors import SeamountError
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.edits._samples import Samples

FILE_NAME = "cuts.parquet"
SCHEMA = pa.schema(
    {"number": pa.int64(), "start": pa.int64(), "end": pa.int64(), "kind": pa.string()}
)
Span = tuple[int, int, str]


def edit_name(kind: str) -> str:
    """Under which name of `edited` the ledger counts pieces of this kind."""
    return f"dedupe: {kind}"


def write(url: str, parts: Iterable[pa.Table | pa.RecordBatch]) -> int:
    """Write the parts of a table, one after another; returns how many bytes go.

    Raises SeamountError where pieces are not sorted, or share a byte.
    """
    size = 0
    with (
        storage.atomic_write(url) as stream,
        pq.ParquetWriter(stream, SCHEMA, compression="zstd") as table,
    ):
        before = np.array([-1, 0])
        for part in parts:
            if part.num_rows:
                _check(part, before)
                before = np.array([part["number"][-1].as_py(), part["end"][-1].as_py()])
                size += int(lengths(part).sum())
                table.write(part)
    return size


def _check(part: pa.Table | pa.RecordBatch, before: np.ndarray) -> None:
    number = np.r_[before[0], part["number"].to_numpy()]
    start, end = part["start"].to_numpy(), np.r_[before[1], part["end"].to_numpy()]
    later = number[1:] > number[:-1]
    behind = (number[1:] == number[:-1]) & (start >= end[:-1])
    if not ((later | behind) & (start < end[1:])).all():
        raise SeamountError(
            "two pieces to cut out of a document overlap, or are out of order; nothing was cut; "
            "please report this"
        )


def lengths(part: pa.Table | pa.RecordBatch) -> np.ndarray:
    """Bytes of each piece."""
    return part["end"].to_numpy() - part["start"].to_numpy()


def parts(url: str) -> Iterator[pa.RecordBatch]:
    """The table at `url`, some rows at a time; nothing where there is none."""
    if storage.exists(url):
        with storage.open_read(url) as stream:
            yield from pq.ParquetFile(stream).iter_batches()


class Reader:
    """The table at `url` in its order, asked for up to one document after another."""

    def __init__(self, url: str) -> None:
        self._parts = parts(url)
        self._rest: pa.RecordBatch | None = None

    def until(self, end: int) -> Iterator[pa.RecordBatch]:
        """Rows of documents below number `end` that were not given before."""
        while (part := self._next()) is not None:
            low = int(np.searchsorted(part["number"].to_numpy(), end))
            if low:
                yield part.slice(0, low)
            if low < part.num_rows:
                self._rest = part.slice(low)
                return

    def _next(self) -> pa.RecordBatch | None:
        part, self._rest = self._rest, None
        return next(self._parts, None) if part is None else part


def without(text: str, spans: Iterable[Span]) -> str:
    """`text` without the bytes of `spans`, which are sorted and disjoint."""
    data = text.encode()
    kept, at = [], 0
    for start, end, _ in spans:
        kept.append(data[at:start])
        at = end
    return b"".join([*kept, data[at:]]).decode()


class Cutter:
    """Takes out of the lines of a batch, which come in their order, what the table at `url` says.

    `samples` remembers the first changes of each kind.
    """

    def __init__(self, url: str, samples: Samples | None) -> None:
        self.samples = samples
        rows = (row for part in parts(url) for row in zip(*part.to_pydict().values(), strict=True))
        self._documents = groupby(rows, itemgetter(0))
        self._next = next(self._documents, None)

    def cut(self, number: int, line: bytes, origin: bytes) -> tuple[bytes, bytes]:
        """Line and origin (see shards) of document `number`, without what goes; else as they are.

        The digest in the origin becomes that of the text that is left.
        """
        if self._next is None or self._next[0] != number:
            return line, origin
        spans = [(start, end, kind) for _, start, end, kind in self._next[1]]
        self._next = next(self._documents, None)
        document = jsonl_zst.decode_line(line)
        text = without(document.text, spans)
        if self.samples is not None and text:
            for kind in sorted({kind for _, _, kind in spans}):
                mine = without(document.text, (s for s in spans if s[2] == kind))
                self.samples.add(edit_name(kind), document, mine)
        _, source, name = msgspec.json.decode(origin)
        digest = xxhash.xxh3_128_hexdigest(text.encode())
        line = jsonl_zst.encode_line(replace(document, text=text))
        return line, msgspec.json.encode((digest, source, name))
