"""One policy for records of the Pile's line format, whatever packs the lines.

`{"text": ..., "meta": {"pile_set_name": ..., "id": ...}}`; what becomes of each kind of damage
stands in jsonl_zst and in docs/corpus/formats.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any

from seamount.core.records import Document, Quarantined

UNKNOWN = "unknown"
_MAX_COMPONENT_LENGTH = 200
_BLANK = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"


def documents(
    blocks: Iterable[bytes], url: str, name: str, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every record of blocks that end at line ends, in order, as a document or a quarantined line.

    A record without `meta.id` gets the id `name:line`. Lines before `start_line` are passed over
    unparsed.
    """
    line = 1
    for block in blocks:
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


def _records(
    block: bytes, line_ends: int, line: int, url: str, name: str
) -> Iterator[Document | Quarantined]:
    records = _decode_fast(block)
    if records is not None and len(records) == line_ends + (not block.endswith(b"\n")):
        for offset, record in enumerate(records):
            yield document(record.text, record.meta, line + offset, url, name)
        return
    for offset, raw in enumerate(block.split(b"\n")):
        if not raw.strip(_BLANK):
            continue
        try:
            text, meta = _decode_carefully(raw)
        except _BadRecord as bad:
            yield Quarantined(url, line + offset, str(bad), len(raw) + 1)
        else:
            yield document(text, meta, line + offset, url, name)


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
    return without_surrogates(value["text"]), without_surrogates(value.get("meta"))


def without_surrogates(value: Any) -> Any:
    """`value` with each lone surrogate, which no UTF-8 can hold, replaced by U+FFFD."""
    if isinstance(value, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", value)
    if isinstance(value, list):
        return [without_surrogates(v) for v in value]
    if isinstance(value, dict):
        return {without_surrogates(k): without_surrogates(v) for k, v in value.items()}
    return value


def is_component_name(name: Any) -> bool:
    """Whether `name` can be a component's: text of 1 to 200 characters, no control character."""
    if not isinstance(name, str) or not 0 < len(name) <= _MAX_COMPONENT_LENGTH:
        return False
    return not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", name)


@lru_cache(maxsize=4096)
def _component(name: str) -> str:
    return name if is_component_name(name) else UNKNOWN


def document(text: str, meta: Any, line: int, url: str, name: str) -> Document:
    """The document of one record; `line` is its number in the file, from 1."""
    rest = dict(meta) if isinstance(meta, dict) else {} if meta is None else {"value": meta}
    component, own_id = rest.pop("pile_set_name", None), rest.pop("id", None)
    return Document(
        text=text,
        component=_component(component) if isinstance(component, str) else UNKNOWN,
        id=own_id if isinstance(own_id, str) and own_id else f"{name}:{line}",
        source=f"{url}:{line}",
        meta=rest,
    )
