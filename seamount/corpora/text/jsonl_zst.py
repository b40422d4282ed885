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
from pathlib import PurePosixPath

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import zstd_stream
from seamount.corpora.text.formats import _records
from seamount.corpora.text.formats._records import is_component_name

__all__ = [
    "SUFFIX", "Written", "encode_line", "is_component_name", "list_inputs", "read_documents", "stem",
    "write_documents", "write_lines",
]  # fmt: skip

SUFFIX = ".jsonl.zst"


@dataclass(frozen=True)
class Written:
    """A finished file: its documents, size on disk and SHA-256."""

    documents: int
    size_bytes: int
    sha256: str


def list_inputs(url: str) -> list[str]:
    """The jsonl.zst files at `url` (a file, or a folder searched through), sorted."""
    found = storage.list_files(url, (SUFFIX,))
    if found == [url] and not url.endswith(SUFFIX):
        _refuse_another_format(url)
    if not found:
        raise UserError(f"no *{SUFFIX} file below {url!r}: give a file or a folder that holds some")
    for one in found:
        _refuse_undecodable(one)
    return found


def _refuse_another_format(url: str) -> None:
    """A file that neither its name nor its first bytes make jsonl.zst was given by mistake."""
    with storage.open_read(url) as stream:
        if not zstd_stream.begins_frame(stream.read(4)):
            raise UserError(
                f"{url!r} is no zstd file, nor called one: give *{SUFFIX} files, or a folder that "
                "holds some"
            )


def _refuse_undecodable(url: str) -> None:
    """A file name that is no UTF-8 can stand neither in a manifest nor in a document's id."""
    if any("\ud800" <= character <= "\udfff" for character in url):
        shown = url.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        raise UserError(f"the file name {shown} is not valid UTF-8: rename the file")


def stem(url: str) -> str:
    """File name without folder and `.jsonl.zst`."""
    return PurePosixPath(url).name.removesuffix(SUFFIX)


def read_documents(
    url: str,
    name: str | None = None,
    on_bytes: Callable[[bytes], None] | None = None,
    start_line: int = 1,
) -> Iterator[Document | Quarantined]:
    """Yield every record of one file in order, as a document or as a quarantined line.

    A record without `meta.id` gets the id `name:line` (`name` is the file's stem by default).
    `on_bytes` is given the compressed bytes as they are read, for a digest of the file.
    Lines before `start_line` are passed over unparsed.
    Raises CorruptData naming the file after the good records before the damage.
    """
    name = stem(url) if name is None else name
    with storage.open_read(url) as stream:
        blocks = zstd_stream.line_views(stream, url, on_bytes)
        yield from _records.documents(blocks, url, name, start_line)


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
