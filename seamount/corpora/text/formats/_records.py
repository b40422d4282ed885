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
    blocks: Iterable[bytes | memoryview], url: str, name: str, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every record of blocks that end at line ends, in order, as a document or a quarantined line.

    A record without `meta.id` gets the id `name:line`. Lines before `start_line` are passed over
    unparsed. A block may be a view from the start of a buffer that is used again: it is done with
    before the next is asked for.
    """
    decode, cannot = _decoder()
    line = 0
    for block in blocks:
        view = memoryview(block)
        start = len(_BOM) if line == 0 and view[: len(_BOM)] == _BOM else 0
        find, size = view.obj.find, len(view)  # type: ignore[attr-defined]  # bytes, bytearray
        while start < size:
            end = find(b"\n", start, size)
            if end < 0:  # the last line, without a line end
                end = size
            line += 1
            if line >= start_line:
                try:
                    record = decode(view[start:end])
                except cannot:
                    yield from _closer_look(bytes(view[start:end]), line, url, name)
                else:
                    yield document(record.text, record.meta, line, url, name)
            start = end + 1


def _closer_look(raw: bytes, line: int, url: str, name: str) -> Iterator[Document | Quarantined]:
    """What becomes of a line that the fast decoder refuses; nothing of a blank one."""
    if not raw.strip(_BLANK):
        return
    try:
        text, meta = _decode_carefully(raw)
    except _BadRecord as bad:
        yield Quarantined(url, line, str(bad), len(raw) + 1)
    else:
        yield document(text, meta, line, url, name)


@cache
def _decoder() -> tuple[Any, tuple[type[Exception], ...]]:
    """A function that decodes a sound line, and what it raises at one that needs a closer look."""
    import msgspec

    record = msgspec.defstruct("Record", [("text", str), ("meta", Any, None)], gc=False)
    cannot = (msgspec.MsgspecError, RecursionError, UnicodeError)
    return msgspec.json.Decoder(record).decode, cannot


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
    if type(own_id) is int:
        own_id = str(own_id)
    elif own_id is not None and not isinstance(own_id, str):
        rest["original_id"] = own_id
    return Document(
        text,
        _component(component) if isinstance(component, str) else UNKNOWN,
        own_id if isinstance(own_id, str) and own_id else f"{name}:{line}",
        f"{url}:{line}",
        rest,
    )
