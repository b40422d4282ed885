"""Read and write the Pile's line format, `{"text": ..., "meta": {"pile_set_name": ...}}`, as zstd.

One policy for each kind of damage:

- record damage (bad JSON, invalid UTF-8, raw NUL, no text): the line is quarantined with its
  number and reason; every good record before and after it is delivered;
- container damage (cut short, checksum, not zstd, a line beyond 1 GiB): CorruptData after the good
  records;
- lone surrogates become U+FFFD; `\\u0000` inside the text is delivered (the build removes it);
- `meta` missing or not an object: the document belongs to the set `unknown`, and so it does where
  `meta.pile_set_name` is no text, is empty, is longer than 200 characters or holds a control
  character or a line separator (they would break names of metrics and tables); any other name
  stands as it is;
- a byte-order mark at the start, CRLF line ends, blank lines and a missing last line end are fine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from seamount.core import storage
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import formats, zstd_stream
from seamount.corpora.text.formats import stem
from seamount.corpora.text.formats._records import is_component_name

__all__ = [
    "SUFFIX", "Written", "encode_line", "is_component_name", "read_documents", "write_documents",
    "write_lines",
]  # fmt: skip

SUFFIX = ".jsonl.zst"


@dataclass(frozen=True)
class Written:
    """A finished file: its documents, size on disk and SHA-256."""

    documents: int
    size_bytes: int
    sha256: str


def read_documents(
    url: str,
    name: str | None = None,
    on_bytes: Callable[[bytes], None] | None = None,
    start_line: int = 1,
) -> Iterator[Document | Quarantined]:
    """Yield every record of one zst file in order, as a document or as a quarantined line.

    A record without `meta.id` gets the id `name:line` (`name` is the file's stem by default).
    `on_bytes` is given the compressed bytes as they are read, for a digest of the file.
    Lines before `start_line` are passed over unparsed.
    Raises CorruptData naming the file after the good records before the damage.
    """
    name = stem(url) if name is None else name
    yield from formats.jsonl_zst.read(url, name, on_bytes, start_line)


def write_documents(
    url: str, documents: Iterable[Document], level: int = zstd_stream.LEVEL
) -> Written:
    """Write documents as one zstd frame with checksum; `url` appears whole or not at all."""
    return write_lines(url, (encode_line(d) for d in documents), level)


def write_lines(url: str, lines: Iterable[bytes], level: int = zstd_stream.LEVEL) -> Written:
    """Write encoded lines (see `encode_line`) as `write_documents` does."""
    documents = 0
    with storage.atomic_write(url) as stream:
        target = zstd_stream.HashingWriter(stream)
        with zstd_stream.line_writer(target, level) as frame:
            for line in lines:
                frame.write(line)
                documents += 1
    return Written(documents, target.size_bytes, target.sha256)


def encode_line(document: Document) -> bytes:
    """One line of the format, with its line end; a source's own metadata is kept in `meta`."""
    import msgspec

    meta = {**document.meta, "id": document.id, "pile_set_name": document.component}
    record = {"text": document.text, "meta": meta}
    try:
        return msgspec.json.encode(record) + b"\n"
    except (TypeError, ValueError, OverflowError):  # such as an integer beyond 64 bits
        return json.dumps(record, ensure_ascii=False, default=str).encode() + b"\n"


def decode_line(line: bytes) -> Document:
    """The document of a line that `encode_line` wrote; where it came from is not in it."""
    import msgspec

    record = msgspec.json.decode(line)
    meta = record["meta"]
    component, name = meta.pop("pile_set_name"), meta.pop("id")
    return Document(record["text"], component, name, "", meta)
