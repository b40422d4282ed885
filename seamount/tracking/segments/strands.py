"""Which processes wrote a run, and whether they still live: told by locks, not by guesses."""

from __future__ import annotations

import fcntl
import os
import re
import time
from pathlib import Path

REMOTE_SILENCE_S = 120.0

_FILE_NAME = re.compile(
    r"([rw])(\d+)\.a(\d+)\.([A-Za-z0-9-]+)\.(\d+)\.([0-9a-f]+-[0-9a-f]+)\.(\d+)\.seg"
)


def segment_files(folder: Path) -> list[Path]:
    """The segments of a run, ordered by kind, rank, attempt, host, process (import) and part."""
    with os.scandir(folder) as entries:
        found = [match for entry in entries if (match := _FILE_NAME.fullmatch(entry.name))]
    return [folder / match[0] for match in sorted(found, key=_order)]


def _order(name: re.Match[str]) -> tuple[object, ...]:
    kind, rank, attempt, host, pid, start, part = name.groups()
    return kind, int(rank), int(attempt), host, int(pid), start, int(part)


def is_segment_name(name: str) -> bool:
    """Whether `name` is that of a segment's file (and so no path)."""
    return _FILE_NAME.fullmatch(name) is not None and len(name) <= 200


def writer_lives(path: Path, host: str) -> bool:
    """Whether the process that writes this segment may still append to it.

    Its lock tells, on its own host. Not every shared file system tells other hosts of a lock: from
    there a writer whose lock looks free counts as gone after REMOTE_SILENCE_S without a record.
    """
    if not _lock_is_free(path):
        return True
    return host != host_name() and time.time() - path.stat().st_mtime < REMOTE_SILENCE_S


def _lock_is_free(path: Path) -> bool:
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False  # held by the writer (or there are no locks here: never declare it gone)
    finally:
        os.close(fd)
    return True


def next_attempt(folder: Path, rank: int) -> int:
    """Attempt number for a process of `rank` that opens the run now.

    It joins the newest attempt while a process of that attempt lives; otherwise the rank was
    restarted and a new attempt begins.
    """
    newest, living = -1, False
    for path in segment_files(folder):
        found = _FILE_NAME.fullmatch(path.name)
        if found is None or found[1] == "w" or int(found[2]) != rank:
            continue  # a watcher's own segment says nothing of the rank's life
        attempt = int(found[3])
        lives = attempt >= newest and writer_lives(path, found[4])
        living = lives if attempt > newest else living or lives
        newest = max(newest, attempt)
    return newest if living else newest + 1


def newest_attempt(folder: Path, rank: int) -> int:
    """The newest attempt of `rank` so far, 0 if it never logged."""
    found = (_FILE_NAME.fullmatch(path.name) for path in segment_files(folder))
    return max((int(f[3]) for f in found if f and int(f[2]) == rank), default=0)


def host_name() -> str:
    """This machine's name as it stands in segments: letters, digits and `-` only."""
    return re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)[:63] or "host"
