"""The quota while a run is logged: points always pass, files only while the store has room."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from seamount.tracking.store.folder import Store
from seamount.tracking.upkeep.usage import disk_bytes, quota_bytes, size_text

log = logging.getLogger("seamount.tracking")

_AGAIN_S = 60.0
_SHARE = 20  # measuring may take a twentieth of the time


class Room:
    """Whether a store has room for another file; counts what was refused.

    The store is measured at most once a minute; in between, what this process adds is added up. A
    store without a quota is never measured.
    """

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id
        self._bytes = 0
        self._measure_at = 0.0
        self.refused = 0

    def takes(self, name: str, source: str | Path | bytes) -> bool:
        """Whether the file `name` may be stored; says once in a process that one was refused."""
        quota = quota_bytes(self._store)
        if quota is None:
            return True
        size = os.stat(source).st_size if isinstance(source, str | Path) else len(source)
        if self._used() + size <= quota:
            self._bytes += size
            return True
        self.refused += 1
        if self.refused == 1:
            log.warning(
                "run %s: file %s (%s) is NOT stored, nor are others that find no room: the store "
                "takes %s of its quota of %s; points are logged on; delete runs and `seamount "
                "track gc`, or raise `seamount track quota`",
                self._run_id, name, size_text(size), size_text(self._bytes), size_text(quota),
            )  # fmt: skip
        return False

    def _used(self) -> int:
        start = time.monotonic()
        if start >= self._measure_at:
            self._bytes = disk_bytes(self._store.folder)
            spent = time.monotonic() - start
            self._measure_at = start + max(_AGAIN_S, _SHARE * spent)
        return self._bytes
