"""Files that stand already: a receipt beside each tells what was fetched and checked.

All that a download keeps for itself lies in the hidden folder `.downloads` of the output folder,
which no reader of the folder looks into.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from seamount.core import locks, storage
from seamount.core.errors import SeamountError, UserError
from seamount.corpora.text.download import checks
from seamount.corpora.text.download.mirrors import Stopped
from seamount.corpora.text.download.request import Checked, FileResult, RemoteFile

log = logging.getLogger("seamount")
FOLDER = ".downloads"
_POLL_S = 0.1


@dataclass(frozen=True)
class Places:
    """Where a file and what belongs to it stand."""

    target: Path
    part: Path
    receipt: Path
    lock: Path


def places(out: Path, path: str) -> Places:
    """The places of file `path` of the output folder `out`."""
    own = out / FOLDER / path
    return Places(
        out / path,
        own.with_name(f"{own.name}.part"),
        own.with_name(f"{own.name}.receipt"),
        own.with_name(f"{own.name}.lock"),
    )


@contextmanager
def locked(path: Path, stop: threading.Event) -> Iterator[None]:
    """Hold the lock of a file; the system gives it back when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    told = False
    while True:
        with locks.tried(path) as mine:
            if mine:
                yield
                return
        if not told:
            log.info("%s: another download works on it; waiting", path.stem)
            told = True
        if stop.wait(_POLL_S):
            raise Stopped


def write_receipt(where: Places, of: Path, sha256: str, source: str, checked: Checked) -> None:
    """Note what the file at `of` holds; renaming it later changes neither size nor time."""
    stats = of.stat()
    content = {
        "size_bytes": stats.st_size,
        "mtime_ns": stats.st_mtime_ns,
        "sha256": sha256,
        "source": source,
        "checked": checked,
    }
    storage.write_json(str(where.receipt), content)


def receipt_of(where: Places) -> dict[str, Any] | None:
    """The receipt, if the file stands unchanged since it was written."""
    if not where.receipt.exists() or not where.target.exists():
        return None
    try:
        found: dict[str, Any] = storage.read_json(str(where.receipt))
        stats = where.target.stat()
        unchanged = (found["size_bytes"], found["mtime_ns"]) == (stats.st_size, stats.st_mtime_ns)
        whole = isinstance(found["sha256"], str) and found["checked"] in get_args(Checked)
    except (SeamountError, TypeError, KeyError):
        return None
    return found if unchanged and whole else None


def standing(file: RemoteFile, where: Places, check_zstd: bool) -> FileResult | None:
    """The file if it stands as wanted; None where it is to be fetched.

    An older state that a download wrote here is replaced. Raises UserError where a file stands
    that is neither wanted nor written by a download.
    """
    if not where.target.exists():
        return None
    found = receipt_of(where)
    if found is None:
        return _adopted(file, where, check_zstd)
    asked, has = (file.sha256, file.size_bytes), (found["sha256"], found["size_bytes"])
    if any(a is not None and a != h for a, h in zip(asked, has, strict=True)):
        return None
    checked: Checked = "sha256" if file.sha256 else found["checked"]
    return FileResult(file.path, has[1], has[0], found["source"], checked, reused=True)


def _adopted(file: RemoteFile, where: Places, check_zstd: bool) -> FileResult:
    """A file somebody else put here, if it passes all checks of a fetched one."""
    there = where.target
    if not there.is_file():
        raise UserError(f"{there} is no file: move it away, or choose another output folder")
    if file.sha256 is None and file.size_bytes is None:
        raise UserError(
            f"{there} stands already and neither size nor digest is given to judge it by: "
            "move it away, or give --sha256sums"
        )
    try:
        digest = storage.sha256(str(there))
        checked = checks.check(file, there, there.stat().st_size, digest, check_zstd)
    except checks.NotAsWanted as error:
        raise UserError(
            f"{there} stands already and is not the file wanted ({error}): move it away, or "
            "choose another output folder"
        ) from error
    write_receipt(where, there, digest, "stood here", checked)
    return FileResult(file.path, there.stat().st_size, digest, "stood here", checked, reused=True)
