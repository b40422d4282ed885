"""The watcher's loop: list, flush, bury, until every strand of the run on this host has ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from pathlib import Path
from typing import Any

from seamount.core.durable import fsync_folder
from seamount.core.errors import CorruptData
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name, segment_files
from seamount.tracking.segments.writer import flush_names
from seamount.tracking.watcher.chores import Chores
from seamount.tracking.watcher.couriers import Couriers
from seamount.tracking.watcher.start import LOCK_FD
from seamount.tracking.watcher.strand import WatchedStrand, strand_key

INTERVAL_S = 0.2
_NICE = 5


def main(options: dict[str, Any]) -> None:
    """Entry of the watcher process; `options` come from seamount.tracking.watcher.start."""
    # Ctrl-C and a job's SIGTERM are for the trainer: we still have to say how it took them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > LOCK_FD:
            with contextlib.suppress(OSError):
                os.close(int(name))
    os.chdir("/")
    os.nice(_NICE)
    Watcher(Path(options["folder"]), options["segment"], LOCK_FD, options["path"]).run()


class Watcher:
    """Watches the run in `folder`; `segment` is the file of the process that started us."""

    def __init__(self, folder: Path, segment: str, lock: int, path: list[str]) -> None:
        self._folder, self._lock = folder, lock
        self._first = segment
        self._seen: set[str] = set()
        self._listed_ns = -1
        self._strands: dict[tuple[Any, ...], WatchedStrand] = {}
        self._chores = Chores(folder, path)
        self._couriers = Couriers(folder)

    def run(self) -> None:
        """Until nothing on this host logs the run any more."""
        with contextlib.suppress(OSError):
            flush_names(self._folder)
        while True:
            self.step()
            if not self._busy() and self._all_is_said() and self._leave():
                return
            self._wait()

    def step(self) -> None:
        """One pass: new strands, flush, ended strands."""
        with contextlib.suppress(FileNotFoundError):  # the run is being removed
            self._list()
        for strand in list(self._strands.values()):
            with contextlib.suppress(OSError):  # an input/output error: the next pass tries again
                strand.flush()
            self._bury(strand)
        self._chores.attend(list(self._strands.values()))
        self._couriers.attend(list(self._strands.values()))

    def _list(self) -> None:
        changed_ns = self._folder.stat().st_mtime_ns
        if changed_ns == self._listed_ns:
            return
        first, self._listed_ns = self._listed_ns < 0, changed_ns
        for path in segment_files(self._folder):
            if path.name not in self._seen and not path.name.startswith("w"):
                self._seen.add(path.name)
                self._meet(path, first)
        fsync_folder(self._folder)  # the new names
        if time.time_ns() - changed_ns < 2e9:
            self._listed_ns = 0  # a second change within the clock's grain would not show

    def _meet(self, path: Path, first: bool) -> None:
        fd = os.open(path, os.O_RDONLY)
        header = _header(fd, path.name)
        if header is None or header.host != host_name():
            os.close(fd)
            return
        known = self._strands.get(strand_key(header))
        if known is not None:
            known.next_part(path, header, fd)
            return
        strand = WatchedStrand(path, header, fd)
        if first and path.name != self._first and strand.lock_is_free():
            strand.close()  # it ended before we came: when and how nobody knows
            return
        self._strands[strand.key] = strand

    def _bury(self, strand: WatchedStrand) -> None:
        """Let go of a strand that ended, and say how if it could not say so itself."""
        if strand.options is None:
            strand.read_options()
        if not strand.lock_is_free():
            return
        self._list()  # a next part may have its name by now
        if not strand.lock_is_free():
            return
        if strand.pidfd >= 0 and _is_readable(strand.pidfd):
            strand.note_death()
        seal, lines = strand.ending()
        if seal is not None and seal.get("kind") == "part" and not strand.process_is_gone():
            return  # between two parts
        strand.read_options()  # a run shorter than our first pass asks for a delivery too
        self._couriers.attend([strand])
        if (seal is None or seal.get("kind") == "part") and strand.header.role == "main":
            strand.record_end(lines)
        with contextlib.suppress(OSError):
            strand.flush()
        del self._strands[strand.key]
        self._chores.finish(strand)

    def _busy(self) -> bool:
        return any(s.header.role != "client" for s in self._strands.values())

    def _all_is_said(self) -> bool:
        """Whether chores and deliveries have nothing left to do; the passes go on meanwhile."""
        return self._chores.are_done() and self._couriers.rest()

    def _leave(self) -> bool:
        """Let go of the lock; False if somebody came meanwhile and counts on us."""
        self._chores.wait()
        fcntl.flock(self._lock, fcntl.LOCK_UN)
        self._listed_ns = 0
        self._list()
        if self._busy():
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
            except OSError:
                pass  # the newcomer has a watcher of its own
        for strand in self._strands.values():
            strand.close()
        return True

    def _wait(self) -> None:
        """Until the next pass is due; the moment of a death is noted at once."""
        until = time.monotonic() + INTERVAL_S
        waiting = {s.pidfd: s for s in self._strands.values() if s.pidfd >= 0 and not s.died_us}
        poll = select.poll()
        for fd in waiting:
            poll.register(fd, select.POLLIN)
        while (left := until - time.monotonic()) > 0:
            for fd, _ in poll.poll(left * 1000):
                waiting[fd].note_death()
                poll.unregister(fd)


def _header(fd: int, name: str) -> Header | None:
    try:
        found = codec.read_header(os.pread(fd, 1 << 16, 0), name)
    except CorruptData:
        return None
    return None if found is None else found[0]


def _is_readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))
