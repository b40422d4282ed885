"""An item as files in memory: the file that it is, or those in the tar or zip that it is.

Nothing is ever written, so that a member's name (`../../etc/passwd`) is only a name.
"""

from __future__ import annotations

import errno
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Any

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.core.records import Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _files, _streams

_MOST_HEADER_BYTES = 1 << 20
_LONG_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


@dataclass(frozen=True)
class Stream:
    """A file as a stream, to be read before the next one is asked for."""

    id: str
    source: str
    stream: IO[bytes]


@dataclass(frozen=True)
class File:
    """A file in memory; `id` is its item's name, with the member's name in an archive."""

    id: str
    source: str
    data: bytes


def is_archive(name: str) -> bool:
    """Whether a file's name is that of a tar or zip."""
    return name.lower().endswith(_files.ARCHIVES)


def files(
    item: Item, wanted: Callable[[str], bool], most_bytes: int = _streams.MOST_BYTES
) -> Iterator[File | Skipped | Quarantined]:
    """The file, or every member of the archive whose name is `wanted`; the others are Skipped.

    A damaged file is Quarantined; a damaged archive raises CorruptData after its sound members. A
    file of more than `most_bytes` is Skipped.
    """
    if is_archive(item.location):
        yield from _members(item, wanted, most_bytes)
        return
    try:
        with _streams.opened(item.location) as stream:
            data = _streams.whole(stream, most_bytes)
    except _streams.TooLarge:
        yield Skipped(item.location, f"larger than {most_bytes} bytes", item.size_bytes)
    except CorruptData as error:
        yield Quarantined(item.location, 1, str(error), item.size_bytes)
    else:
        yield File(item.name, item.location, data)


def streams(item: Item, wanted: Callable[[str], bool]) -> Iterator[Stream | Skipped | Quarantined]:
    """As `files`, but each as a stream; reading one raises CorruptData where it is damaged."""
    if not is_archive(item.location):
        with _streams.opened(item.location) as stream:
            yield Stream(item.name, item.location, stream)
        return
    for name, size, read in _opened(item.location):
        source = f"{item.location}!{name}"
        if not wanted(name):
            yield Skipped(source, "not a file of this kind", size)
            continue
        try:
            content = read()
        except _BAD_MEMBER as error:
            yield Quarantined(source, 1, f"not readable in its archive: {error}", size)
        else:
            plain = _streams.told(content.read, source)
            yield Stream(f"{item.name}/{name}", source, _streams.decompressed(plain, name))


def _members(
    item: Item, wanted: Callable[[str], bool], most_bytes: int
) -> Iterator[File | Skipped | Quarantined]:
    for name, size, read in _opened(item.location):
        source = f"{item.location}!{name}"
        if not wanted(name):
            yield Skipped(source, "not a file of this kind", size)
            continue
        try:
            data = _streams.whole(_streams.decompressed(_told(read, source), name), most_bytes)
        except _streams.TooLarge:
            yield Skipped(source, f"larger than {most_bytes} bytes", size)
        except _BAD_MEMBER as error:
            yield Quarantined(source, 1, f"not readable in its archive: {error}", size)
        else:
            yield File(f"{item.name}/{name}", source, data)


def _told(read: Callable[[], IO[bytes]], source: str) -> IO[bytes]:
    return _streams.told(read().read, source)


# CorruptData here is the member's own compression; the archive's is raised between members.
_BAD_MEMBER = (
    CorruptData,
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
)
_Member = tuple[str, int, Callable[[], IO[bytes]]]


def _opened(url: str) -> Iterator[_Member]:
    return _zip_members(url) if url.lower().endswith(".zip") else _tar_members(url)


def _zip_members(url: str) -> Iterator[_Member]:
    with storage.open_read(url) as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise CorruptData(f"{url} is no readable zip: {error}") from error
        for info in archive.infolist():
            if not info.is_dir():
                yield _files.printable(info.filename), info.file_size, _zip_reader(archive, info)


def _zip_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], IO[bytes]]:
    def read() -> IO[bytes]:
        try:
            return archive.open(info)
        except (ValueError, OverflowError, struct.error, OSError) as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            raise zipfile.BadZipFile(f"a directory entry that leads nowhere: {error}") from error

    return read


def _tar_members(url: str) -> Iterator[_Member]:
    with _streams.opened(url) as stream:
        yield from tar_members(stream, url, url.lower().endswith(".tar"))


def tar_members(stream: IO[bytes], name: str, needs_end: bool = False) -> Iterator[_Member]:
    """(name, size, open) of each regular file in a tar stream, to be read in order.

    Raises CorruptData where the archive is damaged, or (`needs_end`) stops without its end mark.
    """
    strict = type("_Strict", (_CheckedHeader,), {"needs_end": needs_end, "archive_name": name})
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=strict) as archive:
            while (info := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # else it keeps them all
                if info.isfile():
                    yield _files.printable(info.name), info.size, _tar_reader(archive, info)
    except (tarfile.TarError, ValueError, EOFError) as error:
        raise CorruptData(f"{name} is a damaged tar: {error}") from error


def _tar_reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
    def read() -> IO[bytes]:
        content = archive.extractfile(info)
        if content is None:
            raise CorruptData("a member without content")
        return content

    return read


class _CheckedHeader(tarfile.TarInfo):
    """A header that is refused where tarfile would take it, silently, for the archive's end."""

    needs_end = False
    archive_name = ""

    @classmethod
    def fromtarfile(cls, archive: Any) -> Any:
        """The next header; raises CorruptData for a damaged or missing one."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # two blocks of zeros
            raise
        except tarfile.EmptyHeaderError as error:  # type: ignore[attr-defined]
            if cls.needs_end and archive.offset:
                raise CorruptData(f"{cls.archive_name} is cut short") from error
            raise
        except tarfile.HeaderError as error:
            raise CorruptData(f"{cls.archive_name} has a damaged header: {error}") from error

    @classmethod
    def frombuf(cls, buf: Any, encoding: str, errors: str) -> Any:
        """A header; raises CorruptData for one that would be read into memory without bound."""
        info = super().frombuf(buf, encoding, errors)
        if info.type in _LONG_HEADERS and info.size > _MOST_HEADER_BYTES:
            raise CorruptData(f"{cls.archive_name} has a header of {info.size} bytes")
        return info


def parts(path: str) -> tuple[str, ...]:
    """A member's name as parts, without `.` and with `..` taken inside the archive only."""
    kept: list[str] = []
    for part in PurePosixPath(path.replace("\\", "/")).parts:
        if part == "..":
            kept = kept[:-1]
        elif part not in ("/", "."):
            kept.append(part)
    return tuple(kept)
