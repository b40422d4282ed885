"""Text chunks of PNG files (W3C PNG, section 11.3.3), written, and read with every size bounded."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

from seamount.core.errors import CorruptData

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_CHUNKS = 200_000
_HEADER_END = len(SIGNATURE) + 25  # IHDR: length, type, 13 bytes, CRC


def text(keyword: str, value: str) -> bytes:
    """A tEXt chunk, or iTXt where Latin-1 has not all of the letters."""
    try:
        data = value.encode("latin-1")
    except UnicodeEncodeError:
        return international(keyword, value)
    return _chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + data.replace(b"\0", b""))


def international(keyword: str, value: str, *, compressed: bool = False) -> bytes:
    """An iTXt chunk, UTF-8."""
    data = value.replace("\0", "").encode("utf-8", "replace")
    flag = b"\1\0" if compressed else b"\0\0"
    body = zlib.compress(data, 9) if compressed else data
    return _chunk(b"iTXt", keyword.encode("latin-1") + b"\0" + flag + b"\0\0" + body)


def insert(png: bytes, chunks: Sequence[bytes]) -> bytes:
    """`png` with `chunks` after its IHDR."""
    return png[:_HEADER_END] + b"".join(chunks) + png[_HEADER_END:]


def find_international(png: bytes, keyword: str, limit: int) -> str | None:
    """The text of the first iTXt chunk of this keyword, None where there is none.

    Raises CorruptData for a damaged file, and for a text of more than `limit` bytes.
    """
    wanted = keyword.encode("latin-1") + b"\0"
    for kind, body in _chunks(png):
        if kind == b"iTXt" and body.startswith(wanted):
            return _international(bytes(body[len(wanted) :]), limit)
    return None


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(type, body) of each chunk up to IEND, its CRC checked."""
    whole, place = memoryview(png), len(SIGNATURE)
    for number in range(_MAX_CHUNKS):
        head = bytes(whole[place : place + 8])
        if len(head) < 8:
            raise CorruptData("this PNG ends within a chunk: it is not whole, copy it again")
        size, kind = struct.unpack(">I4s", head)
        end = place + 8 + size
        check = bytes(whole[end : end + 4])
        if len(check) < 4:
            raise CorruptData("this PNG ends within a chunk: it is not whole, copy it again")
        if number == 0 and (kind != b"IHDR" or size != 13):
            raise CorruptData("this PNG does not begin with its header: it is damaged")
        if zlib.crc32(whole[place + 4 : end]) != int.from_bytes(check, "big"):
            raise CorruptData(f"this PNG is damaged: the checksum at byte {end} is wrong")
        yield kind, bytes(whole[place + 8 : end]) if kind == b"iTXt" else b""
        if kind == b"IEND":
            return
        place = end + 4
    raise CorruptData(f"this PNG has more than {_MAX_CHUNKS:,} chunks: it was not made by seamount")


def _international(body: bytes, limit: int) -> str:
    damaged = CorruptData("the picture's description cannot be unpacked: the file is damaged")
    flags, rest = body[:2], body[2:].split(b"\0", 2)
    if len(rest) < 3 or flags not in (b"\0\0", b"\1\0"):
        raise damaged
    data = rest[2]
    if flags == b"\1\0":
        reader = zlib.decompressobj()
        try:
            data = reader.decompress(data, limit + 1)  # no more, whatever it grows to
        except zlib.error as error:
            raise damaged from error
        if len(data) <= limit and not reader.eof:
            raise damaged
    if len(data) > limit:
        raise CorruptData(f"the picture's description has more than {limit:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise damaged from error


def _chunk(kind: bytes, body: bytes) -> bytes:
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)
