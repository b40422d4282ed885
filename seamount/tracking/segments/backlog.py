"""Records that could not be written yet: kept in memory up to a bound, the rest counted."""

from __future__ import annotations

import os
from collections import deque

MAX_BYTES = 1 << 26


class Backlog:
    """What waits for room on the disk, oldest first; `lost` counts the records beyond the bound."""

    def __init__(self) -> None:
        self.lost = 0
        self._waiting: deque[tuple[bytes, int]] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def records(self) -> int:
        """How many records wait."""
        return sum(records for _, records in self._waiting)

    def add(self, content: bytes, records: int) -> None:
        """Keep `content`, which holds this many records."""
        if self._bytes + len(content) > MAX_BYTES:
            self.lost += records
            return
        self._waiting.append((content, records))
        self._bytes += len(content)

    def write(self, fd: int, position: int) -> int:
        """Append what waits to a file whose good part ends at `position`; returns the new end.

        Stops at the first short write, and raises OSError; what remains waits on.
        """
        while self._waiting:
            if os.fstat(fd).st_size != position:
                os.ftruncate(fd, position)  # a half-written record: take it back
            content = self._waiting[0][0]
            if os.write(fd, content) != len(content):
                break
            position += len(content)
            self._waiting.popleft()
            self._bytes -= len(content)
        return position
