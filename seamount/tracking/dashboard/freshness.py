"""Keeps the index fresh for a server: one refresh at a time, in a thread, and nobody waits long."""

from __future__ import annotations

import logging
import threading
import time

from seamount.core.errors import SeamountError
from seamount.tracking.store.folder import Store

log = logging.getLogger("seamount.tracking")


class Freshness:
    """Takes what is logged into the index of `store` when it is asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._done = threading.Condition()
        self._begun = -1e9  # of the newest refresh that ended
        self._took_s = 0.0
        self._busy = False

    def ensure(self, max_age_s: float = 1.0, wait_s: float = 1.5) -> bool:
        """Have the index as of `max_age_s` ago; False where that takes longer than `wait_s`.

        A refresh that takes long (a new store's first) goes on; what it brought so far shows.
        """
        wanted = time.monotonic() - max_age_s
        with self._done:
            if self._begun >= wanted:
                return True
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._refresh, daemon=True, name="seamount-fresh").start()
            return self._done.wait_for(lambda: self._begun >= wanted or not self._busy, wait_s)

    @property
    def pause_s(self) -> float:
        """How long a loop may rest between two refreshes: they take a third of the time at most."""
        return max(0.4, 2 * self._took_s)

    def _refresh(self) -> None:
        begun = time.monotonic()
        try:
            self._store.refresh()
        except (SeamountError, OSError) as error:
            log.warning("what was logged could not be taken in: %s", error)
        finally:
            with self._done:
                self._begun, self._took_s = begun, time.monotonic() - begun
                self._busy = False
                self._done.notify_all()
