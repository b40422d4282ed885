"""What MLflow's clients log through our plugin, appended to segments with the role "client"."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name, newest_attempt
from seamount.tracking.segments.writer import SegmentWriter
from seamount.tracking.store.folder import Store

MAX_OPEN = 256  # a file each; a run beyond them costs a new file and a flush


class ClientStrand:
    """This process's strand of one run on behalf of MLflow's clients; rank 0, newest attempt."""

    def __init__(self, store: Store, run_id: str) -> None:
        folder = store.run_folder(run_id)
        header = Header(
            run_id=run_id,
            host=host_name(),
            rank=0,
            world_size=1,
            pid=os.getpid(),
            role="client",
            attempt=newest_attempt(folder, 0),
            part=0,
            first_sequence=0,
            start_us=time.time_ns() // 1000,
            nonce=os.urandom(4).hex(),
        )
        self.users = 0  # calls that write to it just now
        self._writer = SegmentWriter(folder, header)
        self._writer.open()

    @property
    def file_name(self) -> str:
        """Name of the segment that it writes now."""
        return self._writer.header.file_name

    def say(self, event: dict[str, Any]) -> None:
        """Append an event."""
        self._writer.event(event, time.time_ns() // 1000)

    def params(self, params: Sequence[Any]) -> None:
        """Append MLflow params as a config."""
        self.say({"kind": "config", "values": {p.key: str(p.value) for p in params}})

    def metrics(self, metrics: Sequence[Any]) -> None:
        """Append MLflow metrics, those of one step and time (ms) together."""
        groups: dict[tuple[int, int, int], dict[str, float]] = {}
        for metric in metrics:
            step, time_us = int(metric.step or 0), int(metric.timestamp) * 1000
            again, key = 0, metric.key
            group = groups.setdefault((step, time_us, again), {})
            while key in group:  # the same key twice at one step and time: a second record
                again += 1
                group = groups.setdefault((step, time_us, again), {})
            group[key] = float(metric.value)
        for (step, time_us, _), data in groups.items():
            self._writer.metrics(data, step, time_us)

    def close(self, *, flush: bool = True) -> None:
        """Seal the segment."""
        self._writer.seal({"kind": "end"}, flush=flush)


class ClientWriters:
    """The open strands of this process, the least recently used closed beyond MAX_OPEN."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._open: OrderedDict[str, ClientStrand] = OrderedDict()
        atexit.register(self.close)

    @contextmanager
    def of(self, run_id: str) -> Iterator[ClientStrand]:
        """The strand for `run_id`; no other thread closes it meanwhile."""
        with self._lock:
            strand = self._open.pop(run_id, None)
            if strand is None:
                strand = ClientStrand(self._store, run_id)
            self._open[run_id] = strand
            strand.users += 1
            if len(self._open) > MAX_OPEN:
                self._close_idle()
        try:
            yield strand
        finally:
            with self._lock:
                strand.users -= 1

    def _close_idle(self) -> None:
        idle = [run_id for run_id, strand in self._open.items() if not strand.users]
        for run_id in idle[: len(self._open) - MAX_OPEN]:
            self._open.pop(run_id).close()

    def let_go(self, run_id: str, *, flush: bool = True) -> None:
        """Seal the strand of a run that was deleted, so that nobody takes it for alive."""
        with self._lock:
            strand = self._open.get(run_id)
            if strand is not None and not strand.users:
                self._open.pop(run_id).close(flush=flush)

    def close(self) -> None:
        """Seal every strand."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
