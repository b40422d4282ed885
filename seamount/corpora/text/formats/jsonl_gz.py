"""The Pile's lines packed by gzip, one member or many; damage is told as for zstd."""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.formats import _lines
from seamount.corpora.text.gzip_stream import Reader

SUFFIXES = (".jsonl.gz", ".json.gz")
SEES_ALL_BYTES = True


def read(
    url: str, name: str, on_bytes: _lines.OnBytes = None, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every record of the file; CorruptData after the good records before a damage."""
    yield from _lines.read(Reader, url, name, on_bytes, start_line)


def count(url: str) -> int:
    """Lines of the file."""
    return _lines.count(Reader, url)


def head(url: str, name: str, limit_bytes: int) -> tuple[list[Document], int]:
    """The first documents, and the packed bytes that they take."""
    return _lines.head(Reader, url, name, limit_bytes)
