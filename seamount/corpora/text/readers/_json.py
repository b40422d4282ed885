"""JSON objects out of files: one object, a list of them, or an object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from seamount.core.records import Quarantined, Skipped
from seamount.corpora.text.formats._records import without_surrogates
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files, _streams

_LINES = _files.with_suffix(".jsonl", ".ndjson")


@dataclass(frozen=True)
class Record:
    """One object, its place (line, or position in a list, from 1) and its size."""

    value: dict[str, Any]
    file_id: str
    source: str
    number: int
    size_bytes: int


def records(item: Item, wanted: Callable[[str], bool]) -> Iterator[Record | Quarantined | Skipped]:
    """Every object of an item; files of lines are streamed, others held in memory.

    What is no object is Quarantined; damage of a streamed file is CorruptData after its good lines.
    """
    if _LINES(item.location) and not _archives.is_archive(item.location):
        with _streams.opened(item.location) as stream:
            yield from _of_lines(_streams.lines(stream), item.name, item.location)
        return
    for file in _archives.files(item, wanted):
        if not isinstance(file, _archives.File):
            yield file
        elif _LINES(file.id):
            yield from _of_lines(iter(file.data.splitlines(True)), file.id, file.source)
        else:
            yield from _of_file(file)


def _of_file(file: _archives.File) -> Iterator[Record | Quarantined]:
    """A file of one value; where that fails, and the first line is a value alone, of lines."""
    try:
        value = _loads(file.data)
    except ValueError as error:
        lines = file.data.splitlines(True)
        if len(lines) > 1 and _is_json(lines[0]):
            yield from _of_lines(iter(lines), file.id, file.source)
        else:
            yield _encodings.quarantined(file, str(error))
        return
    values = value if isinstance(value, list) else [value]
    share = len(file.data) // max(1, len(values))
    for number, one in enumerate(values, 1):
        yield _record(one, file.id, file.source, number, share)


def _of_lines(lines: Iterator[bytes], file_id: str, source: str) -> Iterator[Record | Quarantined]:
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \t\r\n\xef\xbb\xbf"):
            continue
        try:
            value = _loads(line)
        except ValueError as error:
            yield Quarantined(source, number, str(error), len(line))
        else:
            yield _record(value, file_id, f"{source}:{number}", number, len(line))


def _record(value: Any, file_id: str, source: str, number: int, size: int) -> Record | Quarantined:
    if not isinstance(value, dict):
        reason = f"a JSON {type(value).__name__} where an object is expected"
        return Quarantined(source, number, reason, size)
    return Record(value, file_id, source, number, size)


def _loads(data: bytes) -> Any:
    try:  # escapes such as \\ud800 are no text: each becomes U+FFFD, as in the Pile's format
        return without_surrogates(json.loads(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise ValueError(f"invalid UTF-8 at byte {error.start}") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


def _is_json(line: bytes) -> bool:
    try:
        _loads(line)
    except ValueError:
        return False
    return True
