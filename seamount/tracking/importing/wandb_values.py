"""How W&B writes values: items with a path of keys and a JSON text, nested into one tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from seamount.tracking.importing import wire
from seamount.tracking.importing.records import Report


def tree(record: dict[int, list[Any]], report: Report) -> dict[str, Any]:
    """The items of a record, nested as their keys say."""
    root: dict[str, Any] = {}
    for content in record.get(1, ()):
        item = wire.message(content)
        path = wire.texts(item, 2) or [wire.text(item, 1)]
        node = root
        for part in path[:-1]:
            inner = node.get(part)
            node[part] = node = inner if isinstance(inner, dict) else {}
        node[path[-1]] = parsed(wire.text(item, 16), report)
    return root


def parsed(text: str, report: Report | None) -> Any:
    """A value as W&B writes it: JSON, with NaN and infinities, also as texts of these names."""
    try:
        value = json.loads(text) if text else None
    except (ValueError, RecursionError):
        if report is not None:
            report.add("values that are no JSON (kept as text)", text)
        return text
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def values(row: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value); a dict that says its `_type` is one value."""
    for key, value in row.items():
        if isinstance(value, dict) and "_type" not in value and value:
            yield from values(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Dotted name -> value."""
    return dict(values(row))


def is_media(value: Any) -> bool:
    """Whether a value says its own type: a histogram, a picture, a table."""
    return isinstance(value, dict) and "_type" in value


def timestamp(contents: list[Any] | None) -> int:
    """Microseconds of a google.protobuf.Timestamp, 0 where absent."""
    if not contents:
        return 0
    found = wire.message(contents[0])
    return wire.signed(found, 1) * 1_000_000 + wire.signed(found, 2) // 1000
