"""Writes TensorBoard event files for tests: an encoder of its own, beside the reader."""

from __future__ import annotations

import struct
from pathlib import Path


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit (RFC 3720), slow and plain."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def blob(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def scalar_event(tag: str, value: float, step: int, time_s: float) -> bytes:
    simple = blob(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value)
    return event(blob(5, blob(1, simple)), step, time_s)


def event(rest: bytes, step: int, time_s: float) -> bytes:
    time = varint(1 << 3 | 1) + struct.pack("<d", time_s)
    return record(time + varint(2 << 3) + varint(step) + rest)


def write_scalars(folder: Path, points: list[tuple[str, float, int, float]]) -> Path:
    """An event file with (tag, value, step, seconds) in `folder`; appends where it exists."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "events.out.tfevents.1700000000.host.1.0"
    with path.open("ab") as stream:
        for tag, value, step, time_s in points:
            stream.write(scalar_event(tag, value, step, time_s))
    return path
