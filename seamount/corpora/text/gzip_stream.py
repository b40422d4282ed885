"""Gzip (RFC 1952) as a stream that notices every kind of damage, in bounded memory.

Members follow one another as in `cat a.gz b.gz`; zeros behind the last one are padding. What comes
before a damage is given to its last byte, which the standard library's reader does not do.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from seamount.core.errors import CorruptData
from seamount.corpora.text import magic, zstd_stream

_READ_BYTES = 1 << 18
_GZIP_WBITS = 31  # a gzip header, its checksum and its length are asked for
_HEAD_BYTES = 4


class Reader:
    """The content of a gzip file, read into the caller's buffer; `used` counts its packed bytes.

    `on_bytes` sees the packed bytes as they are read. CorruptData names `url` and the member.
    """

    def __init__(
        self, stream: IO[bytes], url: str, on_bytes: Callable[[bytes], None] | None = None
    ) -> None:
        self._stream, self._url, self._on_bytes = stream, url, on_bytes
        self._waiting = b""
        self._read = self._started_at = 0
        self._member: Any = None
        while len(self._waiting) < _HEAD_BYTES and self._fill():
            pass
        magic.refuse_others(self._waiting, url, magic.GZIP)

    @property
    def used(self) -> int:
        """Packed bytes that went into what was given so far."""
        return self._read - len(self._waiting)

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill `buffer` as far as one piece goes; returns how far, 0 at the end."""
        while self._open_member():
            piece = self._inflate(len(buffer))
            buffer[: len(piece)] = piece
            if piece:
                return len(piece)
        return 0

    def _fill(self) -> bool:
        data = self._stream.read(_READ_BYTES)
        if self._on_bytes is not None:
            self._on_bytes(data)
        self._waiting += data
        self._read += len(data)
        return bool(data)

    def _open_member(self) -> bool:
        """Whether a member is open, or another one begins."""
        if self._member is not None:
            return True
        padded = self._read > len(self._waiting)  # nothing may stand before the first member
        while True:
            self._waiting = self._waiting.lstrip(b"\0") if padded else self._waiting
            if self._waiting:
                break
            if not self._fill():
                return False
        self._started_at = self.used
        self._member = zlib.decompressobj(wbits=_GZIP_WBITS)
        return True

    def _inflate(self, most_bytes: int) -> bytes:
        piece = self._decompress(most_bytes)
        if self._member.eof:
            self._waiting, self._member = self._member.unused_data, None
            return piece
        self._waiting = self._member.unconsumed_tail
        if not piece and not self._waiting and not self._fill():
            raise CorruptData(
                f"{self._url} is cut short: the gzip member that starts at byte "
                f"{self._started_at} has no end in a file of {self._read} bytes; fetch or write "
                "the file again"
            )
        return piece

    def _decompress(self, most_bytes: int) -> bytes:
        """Up to `most_bytes`; before a damage as many as there are."""
        before = self._member.copy()
        while True:
            try:
                piece: bytes = self._member.decompress(self._waiting, most_bytes)
            except zlib.error as error:
                if most_bytes == 1:
                    raise CorruptData(
                        f"{self._url} is damaged in the gzip member that starts at byte "
                        f"{self._started_at} ({error}); fetch or write the file again"
                    ) from error
                self._member, most_bytes = before.copy(), most_bytes // 2
            else:
                return piece


def decompressed(stream: IO[bytes], url: str) -> Iterator[bytes]:
    """Yield the content of a gzip stream piece by piece; see Reader for damage."""
    yield from zstd_stream.pieces_of(Reader(stream, url))
