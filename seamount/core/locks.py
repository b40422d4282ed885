"""Locks that stand for a file or a folder; the system lets go when the holder dies (flock)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock of `path`, waiting for it; a file that is absent is made."""
    with _opened(path) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def tried(path: Path) -> Iterator[bool]:
    """Hold the lock of `path` if nobody else does: gives whether it is held."""
    with _opened(path) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    lock = os.open(path, flags, 0o644)
    try:
        yield lock
    finally:
        os.close(lock)
