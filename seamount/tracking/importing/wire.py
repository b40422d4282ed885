"""The Protocol Buffers wire format, as far as reading another tracker's log needs it.

Own reader: the logs of TensorBoard and W&B are a handful of messages, and their packages (and
generated code) are large and tied to versions. The format: protobuf.dev, guide `encoding`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from seamount.core.errors import CorruptData

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """(field number, value) in order: int for varints, bytes for all else; CorruptData if cut."""
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value, position = _varint(data, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            size, position = _varint(data, position)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise CorruptData(f"a message has the unknown wire type {wire}")
        if position + size > end:
            raise CorruptData("a message ends in the middle of a field")
        yield tag >> 3, data[position : position + size]
        position += size


def message(data: bytes) -> dict[int, list[Any]]:
    """Field number -> values, in order."""
    found: dict[int, list[Any]] = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def text(found: dict[int, list[Any]], number: int) -> str:
    """The last text of a field, "" where absent."""
    values = found.get(number)
    return bytes(values[-1]).decode("utf-8", "replace") if values else ""


def texts(found: dict[int, list[Any]], number: int) -> list[str]:
    """Every text of a repeated field."""
    return [bytes(value).decode("utf-8", "replace") for value in found.get(number, ())]


def signed(found: dict[int, list[Any]], number: int) -> int:
    """The last int64 of a field, 0 where absent."""
    value = found.get(number, [0])[-1]
    return value - (1 << 64) if value >= 1 << 63 else value


def double(found: dict[int, list[Any]], number: int) -> float:
    """The last double of a field, 0 where absent."""
    values = found.get(number)
    return struct.unpack("<d", values[-1])[0] if values else 0.0


def doubles(found: dict[int, list[Any]], number: int, kind: str = "d") -> list[float]:
    """Every double (or float, `kind` "f") of a repeated field, packed or not."""
    content = b"".join(found.get(number, ()))
    size = struct.calcsize(kind)
    return list(struct.unpack(f"<{len(content) // size}{kind}", content))


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise CorruptData("a message ends in the middle of a number")
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, position
        shift += 7


def integers(found: dict[int, list[Any]], number: int) -> list[int]:
    """Every int64 of a repeated field, packed or not."""
    values: list[int] = []
    for value in found.get(number, ()):
        if isinstance(value, int):
            values.append(value)
            continue
        position = 0
        while position < len(value):
            one, position = _varint(value, position)
            values.append(one)
    return [v - (1 << 64) if v >= 1 << 63 else v for v in values]
