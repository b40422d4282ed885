"""The sources of one file: which is asked next, and when it is worth asking again."""

from __future__ import annotations

import logging
import random
import threading
import time
from dataclasses import dataclass

from seamount.core.errors import SeamountError
from seamount.corpora.text.download.addresses import shown
from seamount.corpora.text.download.request import RetryPolicy

log = logging.getLogger("seamount")


class Transient(Exception):
    """A source failed in a way that may pass; `wait_s` is what it asks for (Retry-After)."""

    def __init__(self, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Changed(Transient):
    """What was fetched so far belongs to another state of the file: it starts anew."""


class Unusable(Exception):
    """A source does not have the file, or not the right one: asking again does not help."""


class Stopped(Exception):
    """The download was asked to stop."""


@dataclass
class _Mirror:
    url: str
    failures: int = 0
    ready_at_s: float = 0.0
    given_up: str | None = None


class Mirrors:
    """Sources in their order of preference; a waiting one is passed over for one that is ready."""

    def __init__(
        self, path: str, urls: tuple[str, ...], retry: RetryPolicy, stop: threading.Event
    ) -> None:
        self.path, self.retry, self.stop = path, retry, stop
        self.retries = 0
        self._all = [_Mirror(url) for url in dict.fromkeys(urls)]
        self._random = random.Random()

    def next(self) -> str:
        """The source to ask now; waits where none is ready.

        Raises SeamountError with every source's reason where none is left.
        """
        left = [m for m in self._all if m.given_up is None]
        if not left:
            told = "; ".join(f"{shown(m.url)}: {m.given_up}" for m in self._all)
            raise SeamountError(f"no source gives {self.path}: {told}")
        now = time.monotonic()
        mirror = min(left, key=lambda m: max(m.ready_at_s, now))
        if self.stop.wait(max(0.0, mirror.ready_at_s - now)):
            raise Stopped
        return mirror.url

    def failed(self, url: str, error: Transient, progress: bool) -> None:
        """A failure that may pass: the source waits, or is given up after too many of them."""
        mirror = self._of(url)
        mirror.failures = 0 if progress else mirror.failures + 1
        if mirror.failures > self.retry.retries:
            self.give_up(url, f"{error} ({mirror.failures} times one after another)")
        elif error.wait_s > self.retry.longest_wait_s:
            self.give_up(url, f"{error} and asks to wait {error.wait_s:.0f} s")
        else:
            self.retries += 1
            wait_s = max(error.wait_s, self._backoff_s(mirror.failures))
            mirror.ready_at_s = time.monotonic() + wait_s
            log.info("%s: %s %s; tried again", self.path, shown(url), error)

    def give_up(self, url: str, reason: str) -> None:
        """A source that is not asked again."""
        self._of(url).given_up = reason
        log.info("%s: %s %s; given up", self.path, shown(url), reason)

    def _of(self, url: str) -> _Mirror:
        return next(m for m in self._all if m.url == url)

    def _backoff_s(self, failures: int) -> float:
        whole = min(self.retry.cap_s, self.retry.base_s * 2.0 ** min(max(0, failures - 1), 60))
        return whole * self._random.uniform(0.5, 1.0)
