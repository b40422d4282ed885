"""Which processes wrote a run, and whether they still live: told by locks, not by guesses."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

from seamount.tracking.store import host_name

_FILE_NAME = re.compile(
    r"r(\d+)\.a(\d+)\.([A-Za-z0-9-]+)\.(\d+)\.([0-9a-f]+-[0-9a-f]+)\.(\d+)\.seg"
)


def segment_files(folder: Path) -> list[Path]:
    """The segments of a run, ordered by rank, attempt and part."""
    with os.scandir(folder) as entries:
        return [folder / n for n in sorted(e.name for e in entries) if _FILE_NAME.fullmatch(n)]


def writer_lives(path: Path, host: str) -> bool:
    """Whether the process that writes this segment may still append to it.

    Its lock tells, on its own host; from another host it is taken to live until it seals.
    """
    if host != host_name():
        return True
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True  # held by the writer (or the file system has no locks: never declare it dead)
    finally:
        os.close(fd)
    return False


def next_attempt(folder: Path, rank: int) -> int:
    """Attempt number for a process of `rank` that opens the run now.

    It joins the newest attempt while a process of that attempt lives; otherwise the rank was
    restarted and a new attempt begins.
    """
    newest, living = -1, False
    for path in segment_files(folder):
        found = _FILE_NAME.fullmatch(path.name)
        if found is None or int(found[1]) != rank:
            continue
        attempt = int(found[2])
        lives = attempt >= newest and writer_lives(path, found[3])
        living = lives if attempt > newest else living or lives
        newest = max(newest, attempt)
    return newest if living else newest + 1


def newest_attempt(folder: Path, rank: int) -> int:
    """The newest attempt of `rank` so far, 0 if it never logged."""
    found = (_FILE_NAME.fullmatch(path.name) for path in segment_files(folder))
    return max((int(f[2]) for f in found if f and int(f[1]) == rank), default=0)
