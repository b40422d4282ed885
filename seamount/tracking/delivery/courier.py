"""Delivers one run while it is being logged: a thread of its watcher, one a server."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from seamount.core.errors import SeamountError
from seamount.tracking.delivery.address import Address, parse
from seamount.tracking.delivery.backoff import Backoff
from seamount.tracking.store.folder import Store

if TYPE_CHECKING:
    from seamount.tracking.delivery.deliver import Delivery
    from seamount.tracking.delivery.targets import Target

PAUSE_S = 0.5
HOPELESS_S = 600.0
LAST_PATIENCE_S = 60.0


class Courier:
    """Sends what the run's segments hold, and goes on until it is told to finish.

    No failure reaches the watcher: it stands in the state file, where the logging process sees it.
    """

    def __init__(self, store: Store, run_id: str, url: str) -> None:
        self._store, self._run_id = store, run_id
        self._address: Address = parse(url)
        self._finishing = threading.Event()
        self._done = threading.Event()
        self._last_success = time.monotonic()
        threading.Thread(target=self._run, daemon=True, name="seamount-courier").start()

    def rests(self) -> bool:
        """Whether all was sent, in a pass after this was first asked; or nothing goes any more."""
        if not self._finishing.is_set():
            self._last_success = time.monotonic()
            self._finishing.set()
        hopeless = time.monotonic() - self._last_success > LAST_PATIENCE_S
        return self._done.is_set() or hopeless

    def resume(self) -> None:
        """A process logs the run again: there may be more."""
        self._finishing.clear()
        self._done.clear()

    def _run(self) -> None:
        from seamount.tracking.delivery.deliver import begin  # the watcher's flushes do not wait

        while True:
            try:
                with begin(self._store, self._run_id, self._address) as delivery:
                    if delivery is not None:
                        self._deliver(delivery)
            except Exception:
                # No room for the state, a run removed meanwhile: tried again, like a dead server.
                time.sleep(PAUSE_S)
            self._wait(PAUSE_S)

    def _deliver(self, delivery: Delivery) -> None:
        from seamount.tracking.delivery.connection import Unreachable
        from seamount.tracking.delivery.targets import open_target

        target: Target | None = None
        backoff = Backoff()
        while True:
            finishing = self._finishing.is_set()
            try:
                target = target or open_target(self._store, self._address)
                more = delivery.step(target)
            except Unreachable as error:
                delivery.tell(error)
                self._wait(backoff.next_s(error.after_s))
                continue
            except SeamountError as error:
                delivery.tell(error)
                self._wait(HOPELESS_S)
                continue
            backoff.reset()
            self._last_success = time.monotonic()
            if finishing and not more:
                self._done.set()
            if not more:
                self._wait(PAUSE_S)

    def _wait(self, seconds: float) -> None:
        """At most so long; a run that ends is not kept waiting, but a dead server not hurried."""
        if self._done.is_set() or self._finishing.is_set():
            time.sleep(min(seconds, 5.0))
        else:
            self._finishing.wait(seconds)
