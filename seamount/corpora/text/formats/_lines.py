"""Files of lines, whatever packs them: documents, number of lines, and what a head of them takes.

`Open` makes the reader of one packing out of (stream, url, on_bytes); its `used` says how many
bytes of the file went into what it gave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Protocol

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import zstd_stream
from seamount.corpora.text.formats import _records

OnBytes = Callable[[bytes], None] | None


class CountingReader(zstd_stream.Readable, Protocol):
    """A reader that knows how many bytes of its file it has used."""

    @property
    def used(self) -> int:
        """Bytes of the file that went into what was given so far."""


Open = Callable[[IO[bytes], str, OnBytes], CountingReader]


def read(
    reader: Callable[[IO[bytes], str, OnBytes], zstd_stream.Readable],
    url: str,
    name: str,
    on_bytes: OnBytes,
    start_line: int,
) -> Iterator[Document | Quarantined]:
    """Every record of a file from `start_line` on."""
    with storage.open_read(url) as stream:
        blocks = zstd_stream.views_of(reader(stream, url, on_bytes), url)
        yield from _records.documents(blocks, url, name, start_line)


def count(reader: Callable[[IO[bytes], str, OnBytes], zstd_stream.Readable], url: str) -> int:
    """Lines of a file, the last one also where it has no line end; nothing is parsed."""
    lines, rest = 0, b""
    with storage.open_read(url) as stream:
        for piece in zstd_stream.pieces_of(reader(stream, url, None)):
            lines += piece.count(b"\n")
            rest = piece[-1:]
    return lines + (rest not in (b"", b"\n"))


def head(reader: Open, url: str, name: str, limit_bytes: int) -> tuple[list[Document], int]:
    """The documents of the first `limit_bytes` of content, and the bytes of the file behind them.

    A damage ends it like the limit does.
    """
    with storage.open_read(url) as stream:
        given = _Given(reader(stream, url, None))
        blocks = _Blocks(zstd_stream.views_of(given, url), limit_bytes)
        documents = []
        try:
            for record in _records.documents(blocks, url, name):
                if isinstance(record, Document):
                    documents.append(record)
        except CorruptData:
            pass
        share = blocks.size_bytes / max(1, given.size_bytes)
        return documents, round(given.reader.used * share)


class _Given:
    """A reader with a count of the content it gave."""

    def __init__(self, reader: CountingReader) -> None:
        self.reader, self.size_bytes = reader, 0

    def readinto(self, buffer: memoryview, /) -> int:
        given = self.reader.readinto(buffer)
        self.size_bytes += given
        return given


class _Blocks:
    """The first blocks, up to a limit, with a count of their bytes."""

    def __init__(self, blocks: Iterator[memoryview], limit_bytes: int) -> None:
        self._blocks, self._limit, self.size_bytes = blocks, limit_bytes, 0

    def __iter__(self) -> Iterator[memoryview]:
        for block in self._blocks:
            self.size_bytes += len(block)
            yield block
            if self.size_bytes >= self._limit:
                return
