"""Starts the watcher of a run on this host, unless it is there: in a thread, and at most once."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.tracking.segments.strands import host_name

log = logging.getLogger("seamount.tracking")

LOCK_FD = 3
_CODE = (
    "import json, sys; options = json.loads(sys.argv[1]); sys.path[:] = options['path'];"
    " from seamount.tracking.watcher.main import main; main(options)"
)


def lock_file(folder: Path) -> Path:
    """The file that the watcher of the run in `folder` keeps locked while it lives, by host."""
    return folder / f"watcher.{host_name()}.lock"


def start(folder: Path, segment: str) -> threading.Thread:
    """See in a thread of its own that a watcher lives; `segment` is the file of the caller.

    The segment must have its name already: a watcher that is just leaving looks once more after
    it let go of the lock, and so sees either the segment, or a newcomer who takes the lock.
    """
    thread = threading.Thread(
        target=_start, args=(folder, segment), name="seamount-watcher-start", daemon=True
    )
    try:
        thread.start()
    except RuntimeError as error:
        _tell(folder, error)
    return thread


def _start(folder: Path, segment: str) -> None:
    # Imports nothing: a fork in the middle of an import would leave its lock taken in the child.
    try:
        lock = os.open(lock_file(folder), os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _spawn(folder, segment, lock)
        except BlockingIOError:
            pass  # it is there
        finally:
            os.close(lock)
    except Exception as error:
        _tell(folder, error)


def _tell(folder: Path, error: Exception) -> None:
    log.warning(
        "run %s has no watcher (%s): no flush in the background, no system metrics and no last "
        "words; training goes on",
        folder.name,
        error,
    )


def _spawn(folder: Path, segment: str, lock: int) -> None:
    """Start the watcher as nobody's child; it closes all that it inherits but the lock."""
    path = [os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)]
    options: dict[str, Any] = {"folder": str(folder), "segment": segment, "path": path}
    python = [sys.executable, "-I", "-S", "-c", _CODE, json.dumps(options)]
    # The shell ends at once, so the trainer never has a child that it did not make.
    command = ["/bin/sh", "-c", '"$@" &', "sh", *python]
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    pid = os.posix_spawn(
        command[0],
        command,
        settings.child_environment(),
        file_actions=[*null, (os.POSIX_SPAWN_DUP2, lock, LOCK_FD)],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD],
    )
    status = os.waitpid(pid, 0)[1]
    if status:
        raise OSError(f"/bin/sh ended with status {status}")
