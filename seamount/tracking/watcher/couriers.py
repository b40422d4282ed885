"""The deliveries of the watched run: one courier for each server that its processes named."""

from __future__ import annotations

from pathlib import Path

from seamount.core.errors import SeamountError
from seamount.tracking.delivery.courier import Courier
from seamount.tracking.store.folder import Store
from seamount.tracking.watcher.strand import WatchedStrand


class Couriers:
    """Threads of their own: a server that hangs holds up neither flushes nor last words."""

    def __init__(self, folder: Path) -> None:
        self._store, self._run_id = Store(folder.parent.parent), folder.name
        self._by_url: dict[str, Courier | None] = {}

    def attend(self, strands: list[WatchedStrand]) -> None:
        """These are the strands that live."""
        for strand in strands:
            url = (strand.options or {}).get("deliver_to")
            if url and url not in self._by_url:
                self._by_url[url] = self._courier(url)
        if any(strand.header.role == "main" for strand in strands):
            for courier in self._by_url.values():
                if courier is not None:
                    courier.resume()

    def rest(self) -> bool:
        """Whether every courier has sent all, or has tried for long enough after the run's end."""
        # No short cut: each has to be told that the run has ended.
        return all([courier.rests() for courier in self._by_url.values() if courier is not None])

    def _courier(self, url: str) -> Courier | None:
        try:
            return Courier(self._store, self._run_id, url)
        except SeamountError:
            return None  # Run checks the address; this one comes from elsewhere
