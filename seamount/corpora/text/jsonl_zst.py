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
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import PurePosixPath
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import zstd_stream

SUFFIX = ".jsonl.zst"
UNKNOWN = "unknown"
_MAX_COMPONENT_LENGTH = 200
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


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
    line = 1
    with storage.open_read(url) as stream:
        for block in zstd_stream.line_blocks(stream, url, on_bytes):
            if line == 1 and block.startswith(_BOM):
                block = block[len(_BOM) :]
            lines = block.count(b"\n")
            if line + lines >= start_line:
                passed = max(0, start_line - line)
                kept = _without_first(block, passed)
                yield from _records(kept, lines - passed, line + passed, url, name)
            line += lines


def _without_first(block: bytes, lines: int) -> bytes:
    """`block` without its first `lines` lines."""
    cut = 0
    for _ in range(lines):
        cut = block.index(b"\n", cut) + 1
    return block[cut:] if cut else block


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


def _records(
    block: bytes, line_ends: int, line: int, url: str, name: str
) -> Iterator[Document | Quarantined]:
    records = _decode_fast(block)
    if records is not None and len(records) == line_ends + (not block.endswith(b"\n")):
        for offset, record in enumerate(records):
            yield _document(record.text, record.meta, line + offset, url, name)
        return
    for offset, raw in enumerate(block.split(b"\n")):
        if not raw.strip(_BLANK):
            continue
        try:
            text, meta = _decode_carefully(raw)
        except _BadRecord as bad:
            yield Quarantined(url, line + offset, str(bad), len(raw) + 1)
        else:
            yield _document(text, meta, line + offset, url, name)


@cache
def _decoder() -> Any:
    import msgspec

    record = msgspec.defstruct("Record", [("text", str), ("meta", Any, None)], gc=False)
    return msgspec.json.Decoder(record)


def _decode_fast(block: bytes) -> list[Any] | None:
    """All records of a block at once, or None where one of them needs a closer look."""
    import msgspec

    try:
        return _decoder().decode_lines(block)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None


class _BadRecord(ValueError):
    """Why one line is quarantined."""


def _decode_carefully(raw: bytes) -> tuple[str, Any]:
    if b"\0" in raw:
        raise _BadRecord(f"raw NUL at byte {raw.index(0)} of the line")
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _BadRecord(f"invalid UTF-8 at byte {error.start} of the line") from error
    except json.JSONDecodeError as error:
        raise _BadRecord(f"not JSON: {error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:
        raise _BadRecord(f"not readable JSON: {error}") from error
    if not isinstance(value, dict):
        raise _BadRecord(f"a JSON {type(value).__name__} where an object is expected")
    if "text" not in value:
        raise _BadRecord("no text field")
    if not isinstance(value["text"], str):
        raise _BadRecord(f"text is of type {type(value['text']).__name__}, not a string")
    return _without_surrogates(value["text"]), _without_surrogates(value.get("meta"))


def _without_surrogates(value: Any) -> Any:
    """`value` with each lone surrogate, which no UTF-8 can hold, replaced by U+FFFD."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(v) for v in value]
    if isinstance(value, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
    return value


def is_component_name(name: Any) -> bool:
    """Whether `name` can be a component's: text of 1 to 200 characters, no control character."""
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_COMPONENT_LENGTH:
        return False
    return not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", name)


@lru_cache(maxsize=4096)
def _component(name: str) -> str:
    return name if is_component_name(name) else UNKNOWN


def _document(text: str, meta: Any, line: int, url: str, name: str) -> Document:
    rest = dict(meta) if isinstance(meta, dict) else {} if meta is None else {"value": meta}
    component, own_id = rest.pop("pile_set_name", None), rest.pop("id", None)
    return Document(
        text=text,
        component=_component(component) if isinstance(component, str) else UNKNOWN,
        id=own_id if isinstance(own_id, str) and own_id else f"{name}:{line}",
        source=f"{url}:{line}",
        meta=rest,
    )
