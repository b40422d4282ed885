"""What may take its time, in a thread: system metrics and the state of the source.

A hung graphics driver or a slow `git diff` must not hold up the flushes.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from typing import Any

from seamount.tracking.segments.codec import Header
from seamount.tracking.store.folder import Store
from seamount.tracking.watcher import source
from seamount.tracking.watcher.strand import WatchedStrand
from seamount.tracking.watcher.system_metrics import HostMeter, ProcessMeter

_TICK_S = 0.5
_PATIENCE_S = 30.0


class Chores:
    """Works for the watched strands until it is told that they are gone."""

    def __init__(self, folder: Path, path: list[str]) -> None:
        self._folder, self._path = folder, path
        self._strands: list[WatchedStrand] = []
        self._meters: dict[Any, ProcessMeter] = {}
        self._due: dict[Any, float] = {}
        self._host: HostMeter | None = None
        self._described: set[Any] = set()
        self._ended: list[WatchedStrand] = []
        self._since = time.monotonic()
        self._changed = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def attend(self, strands: list[WatchedStrand]) -> None:
        """These are the strands that live."""
        self._strands = [s for s in strands if s.header.role == "main"]

    def finish(self, strand: WatchedStrand) -> None:
        """This strand has ended: describe its source if that is still to be done, then close it."""
        self._since = time.monotonic()
        self._ended.append(strand)
        self._changed.set()

    def are_done(self) -> bool:
        """Whether nothing is left to do for strands that ended, or not within half a minute."""
        if not self._ended:
            self._since = time.monotonic()
        return not self._ended or time.monotonic() - self._since > _PATIENCE_S

    def wait(self) -> None:
        """Until nothing is left to do, for at most half a minute."""
        until = time.monotonic() + _PATIENCE_S
        while self._ended and time.monotonic() < until:
            time.sleep(0.01)

    def _run(self) -> None:
        while True:
            ended = list(self._ended)
            # Whatever fails here (no room, no permission) must not end the flushes, nor be said
            # to a user who is not there: the files simply lack it.
            with contextlib.suppress(Exception):
                for strand in [*self._strands, *ended]:
                    self._describe(strand)
                self._measure()
            for strand in ended:
                with contextlib.suppress(OSError):
                    strand.close()
                self._ended.remove(strand)
            self._changed.wait(_TICK_S)
            self._changed.clear()

    def _describe(self, strand: WatchedStrand) -> None:
        """The source of each attempt of each rank that asked for it, once a host."""
        wanted = (strand.options or {}).get("source")
        done = (strand.header.attempt, str(wanted))
        if not wanted or done in self._described:
            return
        self._described.add(done)
        store = Store(self._folder.parent.parent)
        for event in source.events(store, strand.header, wanted, self._path):
            strand.say(event)

    def _measure(self) -> None:
        now = time.monotonic()
        living = [s for s in self._strands if (s.options or {}).get("system_s")]
        lowest = min((s.header.rank for s in living), default=None)
        for strand in living:
            if now < self._due.get(strand.key, 0.0):
                continue
            self._due[strand.key] = now + strand.options["system_s"]  # type: ignore[index]
            metrics = self._meter(strand.key, strand.header).read()
            if strand.header.rank == lowest:  # the machine's own, once a host
                self._host = self._host or HostMeter(self._folder)
                metrics |= self._host.read()
            age_us = time.time_ns() // 1000 - strand.header.start_us
            strand.measure(metrics, max(age_us // 1_000_000, 0))

    def _meter(self, key: Any, header: Header) -> ProcessMeter:
        if key not in self._meters:
            self._meters[key] = ProcessMeter(header.pid)
        return self._meters[key]
