"""What MLflow's clients log through our plugin, appended to segments with the role "client"."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name, newest_attempt
from seamount.tracking.segments.writer import SegmentWriter
from seamount.tracking.store.folder import Store

MAX_OPEN = 64


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
        self._writer = SegmentWriter(folder, header)
        self._writer.open()

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
            again = 0  # the same key twice at one step and time goes to a second record
            while metric.key in groups.setdefault((step, time_us, again), {}):
                again += 1
            groups[step, time_us, again][metric.key] = float(metric.value)
        for (step, time_us, _), data in groups.items():
            self._writer.metrics(data, step, time_us)

    def close(self) -> None:
        """Seal the segment."""
        self._writer.seal({"kind": "end"})


class ClientWriters:
    """The open strands of this process, the least recently used closed beyond MAX_OPEN."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._open: OrderedDict[str, ClientStrand] = OrderedDict()
        atexit.register(self.close)

    def of(self, run_id: str) -> ClientStrand:
        """The strand for `run_id`."""
        with self._lock:
            strand = self._open.pop(run_id, None)
            if strand is None:
                strand = ClientStrand(self._store, run_id)
            self._open[run_id] = strand
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            return strand

    def close(self) -> None:
        """Seal every strand."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()
