"""Whether fetched bytes are the file that was wanted."""

from __future__ import annotations

from pathlib import Path

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.corpora.text import magic, zstd_stream
from seamount.corpora.text.download.request import Checked, RemoteFile

_ZSTD = ".zst"
HEAD_BYTES = 4
# How files of these names begin; a server's error page does not.
_BEGINNINGS = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zX", ".parquet": b"PAR1"}
_PAGES = ("text/html", "application/xhtml+xml")


class NotAsWanted(Exception):
    """Size, digest or format are not those of the wanted file."""


def refuse_wrong_beginning(file: RemoteFile, head: bytes, media_type: str, coding: str) -> None:
    """Raise NotAsWanted where the first four bytes, or the headers, tell another kind of file.

    Headers are believed only for names whose beginning is not known, and only without a digest:
    some servers call every file a page.
    """
    name = file.path.lower()
    wrong = name.endswith(_ZSTD) and not magic.begins_zstd(head)
    for suffix, beginning in _BEGINNINGS.items():
        wrong = wrong or (name.endswith(suffix) and not head.startswith(beginning))
    if wrong:
        raise NotAsWanted(f"it begins with {head!r}, as no file called {name.rsplit('.')[-1]} does")
    if file.sha256 is not None or name.endswith((_ZSTD, *_BEGINNINGS)):
        return
    if media_type in _PAGES and not name.endswith((".html", ".htm")):
        raise NotAsWanted(f"it is a web page ({media_type})")
    if coding not in ("", "identity"):
        raise NotAsWanted(f"it is compressed for the way ({coding}), though that was not asked for")


def check(file: RemoteFile, path: Path, size_bytes: int, sha256: str, check_zstd: bool) -> Checked:
    """How the whole file at `path` was proven; raises NotAsWanted where it is not the wanted one.

    A digest is proof enough; without one a .zst file is read to the end of its last frame.
    """
    if file.size_bytes is not None and size_bytes != file.size_bytes:
        raise NotAsWanted(f"it has {size_bytes} bytes, not {file.size_bytes}")
    if file.sha256 is not None:
        if sha256 != file.sha256:
            raise NotAsWanted(f"its SHA-256 is {sha256}, not {file.sha256}")
        return "sha256"
    if size_bytes == 0 and file.size_bytes is None:
        raise NotAsWanted("it is empty")
    if check_zstd and path.name.removesuffix(".part").endswith(_ZSTD):
        _read_to_the_end(file, path)
        return "zstd"
    return "nothing" if file.size_bytes is None else "size"


def _read_to_the_end(file: RemoteFile, path: Path) -> None:
    try:
        with storage.open_read(str(path)) as stream:
            for _ in zstd_stream.decompressed(stream, file.path):
                pass
    except CorruptData as error:
        raise NotAsWanted(str(error)) from error
