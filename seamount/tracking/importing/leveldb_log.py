"""The record log of a .wandb file: LevelDB's log format behind a header of 7 bytes.

Blocks of 32 KiB; in them chunks of `u32 CRC-32, u16 length, u8 type` and data; type 1 is a whole
record, 2, 3, 4 its first, middle and last part (github.com/google/leveldb, doc/log_format.md). The
checksum is zlib's CRC-32 of type and data; the header is `:W&B`, 0xBEE1, version 0.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from seamount.core.errors import CorruptData
from seamount.tracking.importing.records import Report

HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
_BLOCK = 1 << 15
_CHUNK = struct.Struct("<IHB")
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MAX_RECORD_BYTES = 1 << 30


def records(path: Path, report: Report) -> Iterator[bytes]:
    """The data of each whole record; a cut end and damaged blocks are told."""
    with path.open("rb") as stream:
        if stream.read(len(HEADER)) != HEADER:
            raise CorruptData(f"{path} is no .wandb file of a known version")
        parts: list[bytes] = []
        size = 0
        for kind, data in _chunks(stream, path, report):
            if kind in (_WHOLE, _FIRST):
                if parts:
                    report.add("damaged records (left out)", path.name)
                parts, size = [], 0
            elif not parts:
                continue  # the rest of a record whose beginning was damaged
            parts.append(data)
            size += len(data)
            if size > _MAX_RECORD_BYTES:
                raise CorruptData(f"{path} holds a record of over {_MAX_RECORD_BYTES} bytes")
            if kind in (_WHOLE, _LAST):
                yield b"".join(parts)
                parts = []
        if parts:
            report.add("logs cut at their end", path.name)


def _chunks(stream: IO[bytes], path: Path, report: Report) -> Iterator[tuple[int, bytes]]:
    start = len(HEADER)
    while block := stream.read(_BLOCK - start):
        position, length = 0, 0
        while position + _CHUNK.size <= len(block):
            check, length, kind = _CHUNK.unpack_from(block, position)
            if kind == 0 and length == 0:
                break  # the block's unused end
            data = block[position + _CHUNK.size : position + _CHUNK.size + length]
            if len(data) < length and len(block) < _BLOCK - start:
                report.add("logs cut at their end", path.name)
                return
            if zlib.crc32(data, zlib.crc32(bytes([kind]))) != check or not 0 < kind <= _LAST:
                report.add("damaged blocks (their rest is left out)", path.name)
                break
            yield kind, data
            position += _CHUNK.size + length
        start = 0
