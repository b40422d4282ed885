"""The Pile's lines unpacked. Without a frame nothing tells that a file was cut between two lines;
cut within a line, that one is quarantined.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from seamount.core.records import Document, Quarantined
from seamount.corpora.text import magic
from seamount.corpora.text.formats import _lines

SUFFIXES = (".jsonl",)
SEES_ALL_BYTES = True


class _Reader:
    """The file itself; another format is refused by its first bytes."""

    def __init__(self, stream: IO[bytes], url: str, on_bytes: _lines.OnBytes) -> None:
        self._stream, self._url, self._on_bytes, self.used = stream, url, on_bytes, 0

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill `buffer` as far as one piece goes; returns how far, 0 at the end."""
        data = self._stream.read(len(buffer))
        if self._on_bytes is not None:
            self._on_bytes(data)
        if not self.used:
            magic.refuse_others(data, self._url, magic.PLAIN)
        buffer[: len(data)] = data
        self.used += len(data)
        return len(data)


def read(
    url: str, name: str, on_bytes: _lines.OnBytes = None, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every record of the file; CorruptData only for a line beyond the limit."""
    yield from _lines.read(_Reader, url, name, on_bytes, start_line)


def count(url: str) -> int:
    """Lines of the file."""
    return _lines.count(_Reader, url)


def head(url: str, name: str, limit_bytes: int) -> tuple[list[Document], int]:
    """The first documents, and the bytes of their lines."""
    return _lines.head(_Reader, url, name, limit_bytes)
