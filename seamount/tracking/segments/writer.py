"""Appends records to a segment: one write(2) a call, no flush, no lock shared with another process.

What was handed to the kernel survives the death of the process (not a power cut: see `barrier`).
A record that cannot be written (disk full, folder gone) waits in memory, the user is told once, and
every later call tries again; what exceeds the memory bound is counted and leaves a gap that
`seamount track verify` names.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import logging
import os
import struct
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seamount.core.durable import fsync_file, fsync_folder
from seamount.core.errors import UserError, explain_os_error
from seamount.tracking.names import bad_metrics, check_name
from seamount.tracking.segments import codec
from seamount.tracking.segments.backlog import Backlog
from seamount.tracking.segments.codec import Header

log = logging.getLogger("seamount.tracking")

ROTATE_BYTES = 1 << 26
ROTATE_SETS = 4096
MAX_NAMES_A_CALL = 1 << 16


class SegmentWriter:
    """The one writer of one strand; safe for threads, signal handlers and forked children."""

    def __init__(self, folder: Path, header: Header) -> None:
        self.header = header
        self._folder = folder
        self._reset()
        this = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forked(this))

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._deferred: list[Callable[[], None]] = []
        self._fd = -1
        self._name_flushed = False
        self._position = 0
        self._sequence = self.header.first_sequence
        self._sets: dict[tuple[str, ...], tuple[int, Callable[..., bytes]]] = {}
        self._backlog = Backlog()
        self._told = False
        self.sealed = False

    def open(self) -> None:
        """Create the segment's file; raises OSError where it cannot be."""
        name = self.header.file_name
        temporary = self._folder / f".{name}.new"
        fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o644)
        try:
            # The lock goes with the process: whoever gets it later knows that the writer is gone.
            # It is held before the file has its name, so no reader can take it first.
            fcntl.flock(fd, fcntl.LOCK_EX)
            content = codec.encode_header(self.header)
            if os.write(fd, content) != len(content):
                raise OSError(errno.ENOSPC, "No space left on device")
            os.rename(temporary, self._folder / name)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise
        self._fd, self._position = fd, len(content)
        self._name_flushed = False

    def metrics(
        self, data: Mapping[str, Any], step: float, time_us: int, flags: int = 0, end: bytes = b""
    ) -> None:
        """Append one METRICS record (after a KEYS record where this set of names is new).

        `end` is what a preview has behind its values (codec.completion).
        """
        with self._lock:
            if self._busy:
                copy = dict(data)
                self._deferred.append(lambda: self.metrics(copy, step, time_us, flags, end))
                return
            self._busy = True
            try:
                if self._position > ROTATE_BYTES:
                    self._rotate()
                names = tuple(data)
                known = self._sets.get(names)
                if known is None:
                    self._first_metrics(names, data, step, time_us, flags, end)
                    return
                try:
                    packed = known[1](*data.values()) + end
                    content = codec.encode_metrics(
                        self._sequence, time_us, known[0], step, packed, flags
                    )
                except (struct.error, OverflowError, TypeError, ValueError) as error:
                    raise bad_metrics(data, step) from error
                self._append(content, 1)
            finally:
                self._busy = False
                if self._deferred:
                    self._run_deferred()

    def _first_metrics(
        self, names: tuple[str, ...], data: Mapping[str, Any], step: float, time_us: int,
        flags: int, end: bytes,
    ) -> None:  # fmt: skip
        if len(names) > MAX_NAMES_A_CALL:
            raise UserError(
                f"{len(names)} metrics in one call; at most {MAX_NAMES_A_CALL} are kept"
            )
        for name in names:
            check_name(name)
        if len(self._sets) >= ROTATE_SETS:
            self._rotate()
        set_id, pack = len(self._sets), struct.Struct(f"<{len(names)}d").pack
        try:
            packed = pack(*data.values()) + end
            content = codec.encode_keys(self._sequence, time_us, set_id, names)
            if len(content) > codec.MAX_BODY_BYTES:
                raise UserError(f"{len(names)} names of {len(content)} bytes: log fewer a call")
            content += codec.encode_metrics(
                self._sequence + 1, time_us, set_id, step, packed, flags
            )
        except (struct.error, OverflowError, TypeError, ValueError) as error:
            raise bad_metrics(data, step) from error
        self._append(content, 2)
        self._sets[names] = (set_id, pack)

    def event(self, value: dict[str, Any], time_us: int, kind: int = codec.EVENT) -> None:
        """Append one EVENT (or SEAL) record."""
        with self._lock:
            if self._busy:
                self._deferred.append(lambda: self.event(value, time_us, kind))
                return
            self._busy = True
            try:
                if self._position > ROTATE_BYTES:
                    self._rotate()
                content = codec.encode_json(kind, self._sequence, time_us, value)
                if len(content) > codec.MAX_BODY_BYTES:
                    raise UserError(f"a record of {len(content)} bytes is too large to be logged")
                self._append(content, 1)
            finally:
                self._busy = False
                if self._deferred:
                    self._run_deferred()

    def _run_deferred(self) -> None:
        """What signal handlers of this thread logged while a record was being written."""
        waiting, self._deferred = self._deferred, []
        for call in waiting:
            call()

    def _append(self, content: bytes, records: int) -> None:
        """Hand `content` to the kernel; an interrupt right after the write does not lose count."""
        if self._backlog or self._fd < 0:
            self._sequence += records
            self._backlog.add(content, records)
            self._retry()
            return
        size = len(content)
        try:
            written = os.write(self._fd, content)
            # No call between here and the two sums: signal handlers run only after calls.
        except OSError as error:
            self._sequence += records
            self._failed(content, records, error)
            return
        except BaseException:
            # KeyboardInterrupt and the like are raised just after the system call has returned.
            if os.fstat(self._fd).st_size == self._position + size:
                self._position += size
                self._sequence += records
            raise
        self._sequence += records
        if written == size:
            self._position += size
        else:
            self._failed(content, records, OSError(errno.ENOSPC, "No space left on device"))

    def _failed(self, content: bytes, records: int, error: OSError) -> None:
        self._tell(error)
        self._backlog.add(content, records)
        self._retry()  # takes back what was half written; there may be room for this one

    def _retry(self) -> None:
        """Write what waits, oldest first, until the first failure."""
        try:
            if self._fd < 0:
                self.open()
            self._position = self._backlog.write(self._fd, self._position)
        except OSError as error:
            self._tell(error)
            return
        if self._told and not self._backlog:
            self._told = False
            log.warning("run %s: all that waited for the disk is written", self.header.run_id)

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            cause = explain_os_error(error, f"logging run {self.header.run_id} to {self._folder}")
            log.warning("%s; records wait in memory and training goes on", cause)

    def _rotate(self) -> None:
        """Seal this part and begin the next: bounds the file's size and the table of names."""
        if self._backlog or self._fd < 0:
            return
        seal = codec.encode_json(
            codec.SEAL, self._sequence, time.time_ns() // 1000, {"kind": "part"}
        )
        self._append_seal(seal)
        self._next_part()
        try:
            self.open()
        except OSError as error:
            self._tell(error)

    def _append_seal(self, content: bytes) -> None:
        try:
            written = os.write(self._fd, content)
        except OSError:
            written = 0
        if written == len(content):
            self._sequence += 1
        elif written:
            os.ftruncate(self._fd, self._position)
        os.close(self._fd)
        self._fd = -1

    def _next_part(self) -> None:
        self.header = dataclasses.replace(
            self.header, part=self.header.part + 1, first_sequence=self._sequence
        )
        self._sets = {}

    def barrier(self) -> None:
        """Wait until all that was logged is on the disk itself (survives a power cut)."""
        with self._lock:
            if self._backlog:
                self._retry()
            if self._backlog or self._backlog.lost:
                raise UserError(
                    f"run {self.header.run_id}: records still wait for room on the disk"
                )
            if self._fd >= 0:
                self._flush()

    def _flush(self) -> None:
        os.fsync(self._fd)
        if not self._name_flushed:
            flush_names(self._folder)
            self._name_flushed = True

    def seal(self, value: dict[str, Any], *, flush: bool = True) -> None:
        """Write the last record, flush to disk and close; further records are refused."""
        with self._lock:
            if self.sealed:
                return
            self.event(value, time.time_ns() // 1000, codec.SEAL)
            self.sealed = True
            if self._backlog or self._backlog.lost:
                missing = self._backlog.records + self._backlog.lost
                log.error("run %s: %d records found no room", self.header.run_id, missing)
            if self._fd >= 0:
                try:
                    if flush:
                        self._flush()
                finally:
                    os.close(self._fd)
                    self._fd = -1


def flush_names(folder: Path) -> None:
    """Flush to disk what a run's segments are found by: its identity, its folder, their names."""
    with contextlib.suppress(FileNotFoundError):
        fsync_file(folder / "run.json")  # of an import it is written last
    fsync_folder(folder)
    fsync_folder(folder.parent)


def _forked(this: weakref.ReferenceType[SegmentWriter]) -> None:
    """In a forked child: let go of the parent's file and become a strand of its own."""
    writer = this()
    if writer is None or writer.sealed:
        return
    if writer._fd >= 0:
        os.close(writer._fd)  # the parent's lock stays: it belongs to the open file they shared
    parent = writer.header
    writer.header = dataclasses.replace(
        parent,
        pid=os.getpid(),
        parent_pid=parent.pid,
        role="fork" if parent.role == "main" else parent.role,
        part=0,
        first_sequence=0,
        start_us=time.time_ns() // 1000,
        nonce=os.urandom(4).hex(),
    )
    writer._reset()
