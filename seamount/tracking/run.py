"""`Run`: what a training script logs with. No call waits for a network, a disk or another process.

    with Run(project="demo", name="first") as run:
        run.log_configs({"model": {"dim": 64}})
        run.log_metrics({"loss": 2.5}, step=0)

Any number of processes log one run: give them the same `run_id`, or SEAMOUNT_RUN_ID (see
`environment`). Forked children need nothing. The guarantees stand in docs/tracking.md.
"""

from __future__ import annotations

import atexit
import datetime
import os
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from seamount import __version__
from seamount.core import settings
from seamount.core.errors import UserError, explain_os_error
from seamount.tracking import names, steps
from seamount.tracking.capture.surroundings import Capture, Surroundings, capture_of, watch_options
from seamount.tracking.endings import COMPLETED, FAILED, SigtermGuard, describe, state_after
from seamount.tracking.log_calls import LogCalls
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name, next_attempt
from seamount.tracking.segments.writer import SegmentWriter
from seamount.tracking.store import forks
from seamount.tracking.store.folder import open_store

if TYPE_CHECKING:
    from seamount.tracking.delivery.notices import Notices


class Run(LogCalls):
    """One run as one process sees it; a context manager that records how it ended.

    A `run_id` that exists is resumed (joined, if its other processes still run). `tags` is a dict
    of name -> value, or a list of names. `rank` defaults to RANK / SLURM_PROCID. `capture` says
    what is taken in beside it (console, system metrics, source): see Capture; False: nothing.
    `deliver_to` is a server (http://host:port, of ours or MLflow's) that the watcher sends all to;
    without it SEAMOUNT_TRACKING_DELIVER_TO; "" for none. See docs/tracking/delivery.md.
    """

    def __init__(
        self,
        *,
        project: str | None = None,
        name: str | None = None,
        run_id: str | None = None,
        store: str | Path | None = None,
        tags: Mapping[str, Any] | Iterable[str] | None = None,
        rank: int | None = None,
        capture: Capture | bool | None = None,
        fork_run_id: str | None = None,
        fork_step: float | None = None,
        inherit_configs: bool = True,
        deliver_to: str | None = None,
    ) -> None:
        wanted, server = capture_of(capture), _server(deliver_to)
        fork = forks.asked_for(fork_run_id, fork_step, inherit_configs)
        self._store = open_store(store)
        self.run_id = names.check_run_id(
            run_id or settings.tracking_run_id() or os.urandom(16).hex()
        )
        self._rank = settings.rank() if rank is None else rank
        self._counted: dict[str, int] | None = {}
        self._sigterm = SigtermGuard()
        try:
            identity, made = self._store.claim(self.run_id, project, name, fork)
            self._forked = identity.fork_run_id is not None
            self._writer = self._open_writer(made)
        except OSError as error:
            raise explain_os_error(error, f"opening run {self.run_id} in {self.store}") from error
        self.project, self.name = identity.project, name or identity.name
        renamed = None if made or name in (None, identity.name) else name
        try:
            start = {"kind": "start", "version": __version__, "name": renamed}
            self._event(start | {"watch": watch_options(wanted, server)})
            if tags:
                self.add_tags(tags)
        except BaseException as error:
            self._writer.seal({"kind": "end", "state": FAILED, "error": describe(error)})
            raise
        self._surroundings = Surroundings(
            wanted,
            self._store.run_folder(self.run_id),
            self._writer.header.file_name,
            identity.created_us,
            self._event,
        )
        self._delivery = None if server is None else self._notices(server, wanted.watched)
        atexit.register(self._at_exit)

    def _notices(self, server: str, watched: bool) -> Notices:
        from seamount.tracking.delivery.notices import Notices

        return Notices(self._store, self.run_id, server, watched=watched)

    def wait_delivered(self, timeout_s: float | None = None) -> bool:
        """Wait until the server of `deliver_to` has all that this process logged; True if it has.

        For hosts whose disk goes with the job; also after `close`. Nothing else here ever waits.
        """
        if self._delivery is None:
            raise UserError(f"run {self.run_id} is delivered nowhere: give Run(deliver_to=...)")
        return self._delivery.wait(self._writer.header, timeout_s)

    def _open_writer(self, made: bool) -> SegmentWriter:
        folder = self._store.run_folder(self.run_id)
        attempt = 0 if made else next_attempt(folder, self._rank)
        if attempt or self._forked:
            self._counted = None  # numbering goes on where earlier attempts or the parent stopped
        header = Header(
            run_id=self.run_id,
            host=host_name(),
            rank=self._rank,
            world_size=settings.world_size(),
            pid=os.getpid(),
            role="main",
            attempt=attempt,
            part=0,
            first_sequence=0,
            start_us=time.time_ns() // 1000,
            nonce=os.urandom(4).hex(),
        )
        writer = SegmentWriter(folder, header)
        writer.open()
        return writer

    @property
    def store(self) -> str:
        """Address of the store."""
        return self._store.uri

    @property
    def url(self) -> str:
        """Address of the run: the store's, then its id."""
        return f"{self.store}#{self.run_id}"

    @property
    def environment(self) -> dict[str, str]:
        """What a child process needs in its environment to log to this run."""
        return {
            "SEAMOUNT_TRACKING_URI": self.store,
            "SEAMOUNT_RUN_ID": self.run_id,
            "SEAMOUNT_PROJECT": self.project,
        }

    @property
    def artifact_folder(self) -> Path:
        """Folder that shows the run's files under their names."""
        return self._store.artifact_folder(self.run_id)

    def log_metrics(
        self,
        data: Mapping[str, float],
        step: float | None = None,
        timestamp: float | datetime.datetime | None = None,
        *,
        preview: bool = False,
        preview_completion: float | None = None,
    ) -> None:
        """Log numbers at `step`; returns once the kernel has them (kill -9 loses nothing).

        Steps are whole or fractional and come in any order; without one each metric counts by
        itself in this process. `timestamp` is in seconds since 1970 UTC. NaN and infinities stay.
        A `preview` is provisional: it counts nowhere unless previews are asked for, and a later
        preview or a final value of its step takes its place. `preview_completion` says from 0 to 1
        how far the computation behind it was.
        """
        time_us = time.time_ns() // 1000 if timestamp is None else steps.time_us(timestamp)
        if preview or preview_completion is not None:
            end = codec.completion(steps.completion(preview, preview_completion, step))
            if data:
                self._open().metrics(data, steps.check(step), time_us, codec.PREVIEW, end)
        elif step is None:
            self._log_counted(data, time_us)
        elif data:
            self._open().metrics(data, step if type(step) is int else steps.check(step), time_us)

    def _log_counted(self, data: Mapping[str, float], time_us: int) -> None:
        for step, group in self._count(data).items():
            self._open().metrics(group, step, time_us, codec.AUTO_STEP)

    def _count(self, data: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
        """`data` grouped by the next step of each name, which is then taken."""
        counted = self._counts()
        at: dict[Any, dict[str, Any]] = {}
        for name, value in data.items():
            step = counted.get(name, 0)
            at.setdefault(step, {})[name] = value
            counted[name] = step + 1
        return at

    def _counts(self) -> dict[str, int]:
        """Next step by name; a forked child begins anew, a resumed rank and a fork go on."""
        header, child = self._writer.header, self._writer.header.role == "fork"
        if child and getattr(self, "_counts_pid", None) != header.pid:
            self._counts_pid, self._counted = header.pid, None if self._forked else {}
        if self._counted is None:
            self._store.refresh(self.run_id, light=True)
            with self._store.index() as index:
                own = header.attempt > 0 and not child
                self._counted = index.next_steps(self.run_id, self._rank, own=own)
        return self._counted

    def barrier(self) -> None:
        """Wait until all that this process logged would also survive a power cut."""
        self._open().barrier()

    def close(self, state: str = COMPLETED, error: BaseException | None = None) -> None:
        """End this process's part of the run; its segment is flushed to disk and sealed."""
        if self._writer.sealed:
            return
        atexit.unregister(self._at_exit)
        self._surroundings.close()
        detail = None if error is None else describe(error)
        self._writer.seal(
            {"kind": "end", "state": state, "error": detail, "signal": self._sigterm.signal}
        )
        if self._delivery is not None:
            self._delivery.close()

    def __enter__(self) -> Run:
        self._sigterm.install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.close(state_after(error, self._sigterm.signal is not None), error)
        finally:
            self._sigterm.remove()

    def _at_exit(self) -> None:
        """A Run that was never closed: an uncaught exception failed it, else it completed."""
        error = getattr(sys, "last_value", None)
        self.close(state_after(error, signalled=False), error)

    def _open(self) -> SegmentWriter:
        if self._writer.sealed:
            raise UserError(
                f"run {self.run_id} is closed: make a Run with this run_id to resume it"
            )
        return self._writer

    def _event(self, value: dict[str, Any]) -> None:
        self._open().event(value, time.time_ns() // 1000)


def _server(deliver_to: str | None) -> str | None:
    """Where the run is delivered, the address checked; None for nowhere."""
    url = settings.tracking_deliver_to() if deliver_to is None else deliver_to
    if not url:
        return None
    from seamount.tracking.delivery.address import parse

    parse(url)
    return url.strip()
