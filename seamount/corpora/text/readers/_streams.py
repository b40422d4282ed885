"""Files as decompressed streams in bounded memory; damage of the container is CorruptData."""

from __future__ import annotations

import bz2
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.corpora.text import gzip_stream, zstd_stream

MOST_BYTES = 256 << 20  # of one file that is held in memory
_BUFFER = 1 << 18


class TooLarge(Exception):
    """A file has more than the bytes that are held in memory at once."""


@contextmanager
def opened(url: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed where its name ends in .gz, .tgz, .bz2, .xz or .zst."""
    with storage.open_read(url) as stream:
        yield decompressed(stream, url)


def decompressed(stream: IO[bytes], name: str) -> IO[bytes]:
    """`stream` decompressed by the end of `name`; reading it raises CorruptData at damage."""
    lower = name.lower()
    read: Callable[[int], bytes]
    if lower.endswith((".gz", ".tgz")):
        read = _read_pieces(gzip_stream.decompressed(stream, name))
    elif lower.endswith(".bz2"):
        read = bz2.BZ2File(stream).read
    elif lower.endswith(".xz"):
        read = lzma.LZMAFile(stream).read  # noqa: SIM115  # the one who opened `stream` closes it
    elif lower.endswith(".zst"):
        read = _read_pieces(zstd_stream.decompressed(stream, name, None))
    else:
        read = stream.read
    return told(read, name)


def told(read: Callable[[int], bytes], name: str) -> IO[bytes]:
    """A stream over `read(size)` whose damage is a CorruptData that names it."""
    return io.BufferedReader(_Told(read, name), _BUFFER)


_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


class _Told(io.RawIOBase):
    """A raw stream over `read(size)` that names its file where the compression is damaged."""

    def __init__(self, read: Callable[[int], bytes], name: str) -> None:
        super().__init__()
        self._read, self._name = read, name

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer` and give the number of bytes; 0 is the end."""
        try:
            data = self._read(len(buffer))
        except _DAMAGE as error:
            raise CorruptData(f"{self._name} is cut short or damaged: {error}") from error
        except OSError as error:
            if error.errno is not None:  # the disk or the network, not the data
                raise
            raise CorruptData(f"{self._name} is damaged: {error}") from error
        buffer[: len(data)] = data
        return len(data)


def _read_pieces(pieces: Iterator[bytes]) -> Callable[[int], bytes]:
    rest = b""

    def read(size: int) -> bytes:
        nonlocal rest
        while not rest:
            piece = next(pieces, None)
            if piece is None:
                return b""
            rest = piece
        data, rest = rest[:size], rest[size:]
        return data

    return read


def whole(stream: IO[bytes], most_bytes: int = MOST_BYTES) -> bytes:
    """All bytes of a stream; raises TooLarge beyond `most_bytes`."""
    parts: list[bytes] = []
    size = 0
    while piece := stream.read(_BUFFER):
        size += len(piece)
        if size > most_bytes:
            raise TooLarge
        parts.append(piece)
    return b"".join(parts)


def lines(stream: IO[bytes], most_bytes: int = MOST_BYTES) -> Iterator[bytes]:
    """The lines of a stream with their ends; CorruptData where one is beyond `most_bytes`."""
    while line := stream.readline(most_bytes + 1):
        if len(line) > most_bytes:
            raise CorruptData(f"a line is longer than {most_bytes} bytes")
        yield line
