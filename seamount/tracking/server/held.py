"""Segment files that hosts deliver to: one open, locked file a segment while its writer lives.

The lock stands in for the writer's own (see segments/strands.py), so readers of this store see a
run of another host as running while that host keeps saying so.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from seamount.core.errors import SeamountError
from seamount.tracking.segments.pieces import whole_end
from seamount.tracking.segments.strands import REMOTE_SILENCE_S

_TRIES, _PAUSE_S = 100, 0.01


class Busy(SeamountError):
    """Another process writes this file now."""


@dataclass
class HeldFile:
    """An open segment; `size` is where its whole frames end, and where the next ones go."""

    fd: int
    size: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    heard: float = field(default_factory=time.monotonic)

    def append(self, content: bytes) -> None:
        """Write `content` at the end; what was written of it is taken back where there is no room.

        A server that is killed here leaves a torn tail, which `open_held` cuts off.
        """
        if self.fd < 0:
            raise Busy("this segment was let go of just now: send again")
        try:
            written = 0
            while written < len(content):
                written += os.write(self.fd, content[written:])
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self.size += len(content)


class HeldFiles:
    """The files held by this server, by path."""

    def __init__(self) -> None:
        self._files: dict[Path, HeldFile] = {}
        self._lock = threading.Lock()

    def get(self, path: Path) -> HeldFile | None:
        """The held file at `path`, opened and locked if it exists; None where there is none."""
        with self._lock:
            held = self._files.get(path)
            if held is None and path.exists():
                held = self._files[path] = open_held(path)
            if held is not None:
                held.heard = time.monotonic()
            return held

    def create(self, path: Path, content: bytes) -> HeldFile:
        """Make the file at `path` with its first bytes; it gets its name with them and locked."""
        with self._lock:
            if path.exists():
                raise Busy(f"{path.name} was made by another process just now")
            temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.new")
            fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND, 0o644)
            held = HeldFile(fd, 0)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX)
                held.append(content)
                os.rename(temporary, path)
            except BaseException:
                os.close(fd)
                temporary.unlink(missing_ok=True)
                raise
            self._files[path] = held
            return held

    def let_go(self, path: Path) -> None:
        """Flush the file to disk and unlock it: its writer is gone, and all of it is here."""
        with self._lock:
            held = self._files.pop(path, None)
        if held is not None:
            with held.lock:
                fd, held.fd = held.fd, -1
                os.fsync(fd)
                os.close(fd)

    def expire(self, silence_s: float = REMOTE_SILENCE_S) -> None:
        """Let go of the files of which nothing was heard for `silence_s`."""
        now = time.monotonic()
        for path in [p for p, held in list(self._files.items()) if now - held.heard > silence_s]:
            with contextlib.suppress(OSError):
                self.let_go(path)

    def expire_for_ever(self, every_s: float = 10.0) -> None:
        """Expire in a thread of its own."""

        def work() -> None:
            while True:
                time.sleep(every_s)
                self.expire()

        threading.Thread(target=work, daemon=True, name="seamount-expire").start()


def open_held(path: Path) -> HeldFile:
    """Open and lock an existing segment, and cut off what a killed server wrote in part."""
    fd = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        _locked(fd, path)
        # Changes the folder: readers that were done with the run look again (see store/ingest.py).
        os.utime(path.parent)
        end = whole_end(path)
        if end < os.fstat(fd).st_size:
            os.ftruncate(fd, end)
    except BaseException:
        os.close(fd)
        raise
    return HeldFile(fd, end)


def _locked(fd: int, path: Path) -> None:
    """Lock the file; readers hold it for moments only, a writer for as long as it lives."""
    for _ in range(_TRIES):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            time.sleep(_PAUSE_S)
    raise Busy(f"{path.name} is being written by a process of the server's own host")
