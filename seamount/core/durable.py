"""What must survive a power cut: names in folders, flushed to the disk itself."""

from __future__ import annotations

import os
from pathlib import Path


def fsync_folder(folder: Path) -> None:
    """Flush a folder's names to disk: a file whose name is lost is lost, whatever it holds."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
