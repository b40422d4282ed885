"""One process's strand as the watcher sees it: its file, its process, and a strand of our own."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Any

from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder, Header
from seamount.tracking.segments.writer import SegmentWriter
from seamount.tracking.watcher import last_words, processes


class WatchedStrand:
    """A strand of this host that is being written; `fd` is its file, open for reading."""

    def __init__(self, path: Path, header: Header, fd: int) -> None:
        self.header = header
        self.path = path
        self.flushed_bytes = 0
        self.flushes = 0
        self.options: dict[str, Any] | None = None
        self.pidfd = processes.open_pidfd(header.pid)
        self.died_us: int | None = None
        self.status: int | None = None
        self._fd = fd
        self._files = processes.console_files(header.pid)
        self._oom = processes.oom_kills(header.pid)
        self._lock = threading.Lock()
        self._writer: SegmentWriter | None = None
        self._closed = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What the parts of a strand have in common."""
        return strand_key(self.header)

    def next_part(self, path: Path, header: Header, fd: int) -> None:
        """Go on with the part that follows, after a last flush of this one."""
        self.flush()
        os.close(self._fd)
        self.path, self.header, self._fd, self.flushed_bytes = path, header, fd, 0

    def flush(self) -> bool:
        """Flush what the process has written since the last call to disk; True if it had."""
        size = os.fstat(self._fd).st_size
        if size == self.flushed_bytes:
            return False
        os.fdatasync(self._fd)
        self.flushed_bytes = size
        self.flushes += 1
        return True

    def read_options(self) -> None:
        """What the process asked the watcher for, in its first record (once that is there)."""
        found = codec.read_header(os.pread(self._fd, 1 << 16, 0), self.path.name)
        if self.options is not None or found is None:
            return
        if self.header.part or self.header.role != "main":
            self.options = {}
            return
        for record in Decoder().records(os.pread(self._fd, 1 << 20, found[1])):
            if record.kind == codec.EVENT and record.body.get("kind") == "start":
                self.options = record.body.get("watch", {})
                return

    def note_death(self) -> None:
        """The process's descriptor became readable: note when, and how if the kernel tells."""
        if self.died_us is None:
            self.died_us = time.time_ns() // 1000
        if self.status is None:
            self.status = processes.wait_status(self.pidfd, self.header.pid)

    def lock_is_free(self) -> bool:
        """Whether the process has let go of the file (it ended, closed the run, or rotated)."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        return True

    def process_is_gone(self) -> bool:
        """Whether the process itself has ended, as far as can be seen."""
        return self.died_us is not None or (
            self.pidfd < 0 and not Path(f"/proc/{self.header.pid}").exists()
        )

    def ending(self) -> tuple[dict[str, Any] | None, list[str]]:
        """(SEAL or None, last console lines): as logged, else from files it was redirected to."""
        seal, lines = last_words.read_end(self._fd, self.path.name)
        if seal is None and not lines:
            files = [processes.tail_lines(f, last_words.MAX_LINES) for f in self._files]
            lines = [line for found in files for line in found][-last_words.MAX_LINES :]
        return seal, lines

    def record_end(self, lines: list[str]) -> None:
        """Say in a segment of our own how the process ended."""
        ended_us = self.died_us or time.time_ns() // 1000
        message = processes.explain(self.status)
        if self._oom is not None and _more_oom_kills(*self._oom):
            message += "; the kernel killed a process of its control group for lack of memory"
        error: dict[str, Any] = {"type": "Killed", "message": message}
        error["traceback"] = "".join(f"{line}\n" for line in lines)
        error["last_words"] = lines
        if self.status is not None:
            signalled = os.WIFSIGNALED(self.status)
            error["signal"] = os.WTERMSIG(self.status) if signalled else None
            error["exit_code"] = None if signalled else os.WEXITSTATUS(self.status)
        h = self.header
        event = {"kind": "ended", "host": h.host, "pid": h.pid, "start_us": h.start_us}
        self.say(event | {"ended_us": ended_us, "error": error})

    def say(self, event: dict[str, Any]) -> None:
        """Append an event to the watcher's strand of this rank."""
        with self._lock:
            if not self._closed:
                self._own().event(event, time.time_ns() // 1000)

    def measure(self, metrics: dict[str, float], step: int) -> None:
        """Append system metrics to the watcher's strand of this rank."""
        with self._lock:
            if not self._closed and metrics:
                self._own().metrics(metrics, step, time.time_ns() // 1000)

    def _own(self) -> SegmentWriter:
        """The watcher's own segment beside the watched one, made when there is something to say."""
        if self._writer is None:
            header = dataclasses.replace(
                self.header,
                pid=os.getpid(),
                parent_pid=self.header.pid,
                role="watch",
                part=0,
                first_sequence=0,
                start_us=time.time_ns() // 1000,
                nonce=os.urandom(4).hex(),
            )
            writer = SegmentWriter(self.path.parent, header)
            writer.open()
            self._writer = writer
        return self._writer

    def close(self) -> None:
        """Seal the watcher's own segment and let go of the watched one."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._writer is not None:
                self._writer.seal({"kind": "end", "state": "Completed", "flushes": self.flushes})
        for fd in (self._fd, self.pidfd):
            if fd >= 0:
                os.close(fd)


def strand_key(header: Header) -> tuple[Any, ...]:
    """(rank, pid, start, nonce): the same in all parts of a strand."""
    return header.rank, header.pid, header.start_us, header.nonce


def _more_oom_kills(events: Path, before: int) -> bool:
    try:
        return processes.count_oom_kills(events) > before
    except (OSError, ValueError, KeyError):
        return False
