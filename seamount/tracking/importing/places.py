"""Which files of a source may be taken: those inside it, or inside a folder that the user named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from seamount.core import storage
from seamount.tracking.importing.records import Report


def resolve(address: str) -> Path:
    """The local path behind `address`, absolute."""
    return storage.local_path(address).expanduser().absolute()


def inside(path: Path, roots: Iterable[Path | str]) -> bool:
    """Whether `path`, with its links followed, lies in one of `roots`."""
    real = path.resolve()
    return any(
        real.is_relative_to(Path(root).resolve()) for root in roots if storage.is_local(str(root))
    )


def allowed(path: Path, roots: Iterable[Path | str], report: Report, name: str) -> bool:
    """Whether a regular file may be taken; what is refused or missing is told."""
    if not inside(path, roots):
        reason = "files outside the source (allow their folder with --files)"
        report.add(reason, f"{name}: {path}", again=True)
    elif not path.is_file():
        report.add("files that are missing", f"{name}: {path}", again=True)
    else:
        return True
    return False


def below(folder: Path) -> Iterator[tuple[str, Path]]:
    """(relative path, path) of every file below `folder`, sorted; links to folders not followed."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            yield path.relative_to(folder).as_posix(), path


def state_of(paths: Iterable[Path]) -> list[list[object]]:
    """Name, size and time of change of each file: what a fingerprint is made of."""
    found: list[list[object]] = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            found.append([path.name, None])
            continue
        found.append([path.name, status.st_size, status.st_mtime_ns])
    return found


def fingerprint(*parts: object) -> str:
    """A short digest of JSON values."""
    return storage.digest_of(list(parts))[:32]
