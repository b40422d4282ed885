"""TFRecord files: u64 length, its masked CRC-32C, the data, its masked CRC-32C (little-endian).

Format: tensorflow.org/tutorials/load_data/tfrecord. Checked with google_crc32c where that package
is installed, else by a table here (some 10 MB/s).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from seamount.tracking.importing.records import Report

MAX_RECORD_BYTES = 1 << 30
_HEAD = struct.Struct("<QI")


def records(path: Path, report: Report) -> Iterator[bytes]:
    """The data of each whole record; a cut end and damage are told.

    A record whose data fail their checksum is passed over. Behind a damaged length nothing more can
    be found, so the file ends there.
    """
    crc = _crc32c()
    with path.open("rb") as stream:
        while head := stream.read(_HEAD.size):
            if len(head) < _HEAD.size:
                report.add("event files cut at their end", path.name)
                return
            length, check = _HEAD.unpack(head)
            if _masked(crc(head[:8])) != check or length > MAX_RECORD_BYTES:
                report.add("event files damaged in the middle (what follows is left out)", path)
                return
            body = stream.read(length + 4)
            if len(body) < length + 4:
                report.add("event files cut at their end", path.name)
                return
            if _masked(crc(body[:-4])) != int.from_bytes(body[-4:], "little"):
                report.add("damaged records (left out)", path.name)
                continue
            yield body[:-4]


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _crc32c() -> Callable[[bytes], int]:
    try:
        import google_crc32c
    except ImportError:
        return _by_table
    value: Callable[[bytes], int] = google_crc32c.value
    return value


@cache
def _table() -> tuple[int, ...]:
    found = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        found.append(value)
    return tuple(found)


def _by_table(data: bytes) -> int:
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
