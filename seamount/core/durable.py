"""What must survive a power cut: files and the names of files, flushed to the disk itself."""

from __future__ import annotations

import os
from pathlib import Path


def fsync_folder(folder: Path) -> None:
    """Flush a folder's names to disk: a file whose name is lost is lost, whatever it holds."""
    fsync_file(folder)


def fsync_file(path: Path) -> None:
    """Flush a file that others wrote (or a folder's names) to disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
