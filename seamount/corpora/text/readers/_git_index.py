"""The paths that a git index names, read as gitformat-index(5) lays them out (versions 2 to 4).

git itself is not run: a foreign repository's configuration can make it run programs.
"""

from __future__ import annotations

import posixpath
import struct
from collections.abc import Iterator

from seamount.core import storage
from seamount.core.errors import CorruptData

FILE, LINK, SUBMODULE = "file", "link", "submodule"
_KINDS = {0o10: FILE, 0o12: LINK, 0o16: SUBMODULE}
_FIXED_BYTES = 62  # ten 32-bit numbers, a SHA-1 and the flags
_EXTENDED = 0x4000
_MODE_OFFSET, _FLAGS_OFFSET = 24, 60


def of_pointer(url: str) -> str | None:
    """The index that a `.git` file (`gitdir: PATH`) leads to; None where it leads nowhere."""
    with storage.open_read(url) as stream:
        line = stream.read(4096).decode("utf-8", "surrogateescape").strip()
    if not line.startswith("gitdir: "):
        return None
    folder = posixpath.join(url.rpartition("/")[0], line.removeprefix("gitdir: "))
    index = posixpath.normpath(folder) + "/index" if storage.is_local(url) else ""
    return index if index and storage.exists(index) else None


def entries(url: str) -> Iterator[tuple[str, str]]:
    """(path, kind) of each entry, once each, in the index's own order; raises CorruptData."""
    data = storage.read_bytes(url)
    if data[:4] != b"DIRC" or len(data) < 12:
        raise CorruptData(f"{url} is no git index: check the repository with `git status`")
    version, count = struct.unpack(">II", data[4:12])
    if version not in (2, 3, 4):
        raise CorruptData(f"{url} is a git index of version {version}, which this does not read")
    try:
        yield from _entries(data, version, count)
    except (struct.error, IndexError, ValueError, KeyError) as error:
        raise CorruptData(f"{url} is a damaged git index: {error}") from error


def _entries(data: bytes, version: int, count: int) -> Iterator[tuple[str, str]]:
    at, path, last = 12, b"", None
    for _ in range(count):
        (mode,) = struct.unpack_from(">I", data, at + _MODE_OFFSET)
        (flags,) = struct.unpack_from(">H", data, at + _FLAGS_OFFSET)
        start = at + _FIXED_BYTES + (2 if flags & _EXTENDED else 0)
        if version == 4:
            stripped, start = _variable_number(data, start)
            end = data.index(b"\0", start)
            path = path[: len(path) - stripped] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            path = data[start:end]
            at += (end - at + 8) // 8 * 8  # entries are padded with 1 to 8 zeros
        if path != last:  # the same path stands up to three times while a merge is open
            yield _safe(path), _KINDS[mode >> 12]
        last = path


def _variable_number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1


def _safe(path: bytes) -> str:
    """The path; ValueError where it would leave the repository, which git never writes."""
    text = path.decode("utf-8", "surrogateescape")
    if text.startswith("/") or ".." in text.split("/") or not text:
        raise ValueError(f"the path {text!r} leaves the repository")
    return text
