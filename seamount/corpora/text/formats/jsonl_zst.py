"""The Pile's lines packed by zstd, its own format; text/jsonl_zst.py states the policy and writes
it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import zstd_stream
from seamount.corpora.text.formats import _lines, _records
from seamount.corpora.text.zstd_frames import FrameWalk

SUFFIXES = (".jsonl.zst",)
SEES_ALL_BYTES = True
_LEAST_BYTES = 1 << 16
_USUAL_RATIO = 3  # of text to what zstd makes of it


def read(
    url: str, name: str, on_bytes: _lines.OnBytes = None, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every record of the file; CorruptData after the good records before a damage."""
    yield from _lines.read(zstd_stream.Reader, url, name, on_bytes, start_line)


def count(url: str) -> int:
    """Lines of the file."""
    return _lines.count(zstd_stream.Reader, url)


def head(url: str, name: str, limit_bytes: int) -> tuple[list[Document], int]:
    """The documents in the first bytes of the file, and how many bytes those are."""
    whole = storage.size_bytes(url)
    size_bytes = max(_LEAST_BYTES, limit_bytes // _USUAL_RATIO)
    while True:
        size_bytes = min(size_bytes, whole)
        with storage.open_read(url) as stream:
            data = stream.read(size_bytes)
        documents = _whole_lines(data, url, name)
        if documents or size_bytes == whole:
            return documents, _behind_whole_lines(data)
        size_bytes *= 8  # not even one line in it


def _whole_lines(data: bytes, url: str, name: str) -> list[Document]:
    documents = []
    try:
        blocks = zstd_stream.line_blocks(io.BytesIO(data), url)
        for record in _records.documents(blocks, url, name):
            if isinstance(record, Document):
                documents.append(record)
    except CorruptData:
        pass  # it ends in the middle of something
    return documents


def _behind_whole_lines(head: bytes) -> int:
    """How many of these first bytes of a zst file stand behind its whole lines."""
    walk = FrameWalk("head")
    taken = content = whole = 0
    try:
        while taken < len(head):
            taken += walk.take(head[taken:])
        for piece in zstd_stream.decompressed(io.BytesIO(head), "head"):
            cut = piece.rfind(b"\n") + 1
            whole = content + cut if cut else whole
            content += len(piece)
    except CorruptData:
        pass  # it ends in the middle of something
    if walk.settled == len(head) and not walk.inside:
        return len(head)
    return round(walk.settled * whole / max(1, content))
