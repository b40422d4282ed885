"""One file, from its sources to its name."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from seamount.core import progress, storage
from seamount.core.errors import DiskFull, explain_os_error
from seamount.corpora.text.download import checks, part_file
from seamount.corpora.text.download.addresses import scheme, shown
from seamount.corpora.text.download.mirrors import Changed, Mirrors, Stopped, Transient, Unusable
from seamount.corpora.text.download.part_file import PartFile
from seamount.corpora.text.download.request import DownloadRequest, FileResult, RemoteFile
from seamount.corpora.text.download.sources import Opened, Source
from seamount.corpora.text.download.standing import Places, locked, standing, write_receipt


@dataclass(frozen=True)
class Surroundings:
    """What the files of one download share: sources by scheme, the stop sign, the count of bytes.

    `on_bytes` is told of every byte that came (and, below zero, of those thrown away).
    """

    request: DownloadRequest
    out: Path
    sources: dict[str, Source]
    stop: threading.Event
    on_bytes: Callable[[int], None]


def fetch_file(file: RemoteFile, around: Surroundings, where: Places) -> FileResult:
    """The file whole under its name, fetched unless it stands there already.

    Raises SeamountError where no source gives it, DiskFull, UserError where another file has its
    name, mirrors.Stopped where the download was asked to stop.
    """
    try:
        with locked(where.lock, around.stop):
            found = standing(file, where, around.request.check_zstd)
            if found is None:
                return _Fetch(file, around, where).run()
            part_file.remove(where.part)  # left by one that was killed while it published
            return found
    except OSError as error:
        raise explain_os_error(error, f"writing {where.target}") from error


class _Fetch:
    def __init__(self, file: RemoteFile, around: Surroundings, where: Places) -> None:
        self.file, self.around, self.where = file, around, where
        retry = around.request.retry
        self.mirrors = Mirrors(file.path, file.urls, retry, around.stop)
        self.best = self.fetched_bytes = 0
        self.start_s = time.monotonic()
        self.part = PartFile(where.part, file.sha256, around.request.mark_bytes)

    def run(self) -> FileResult:
        self.best = self.part.size_bytes
        try:
            while True:
                url = self.mirrors.next()
                try:
                    return self._finish(url)
                except Unusable as error:
                    self.mirrors.give_up(url, str(error))
                except Transient as error:
                    self._note(url, error)
        finally:
            self.part.close()

    def _note(self, url: str, error: Transient) -> None:
        if isinstance(error, Changed):
            self._throw_away()
        progress = self.part.size_bytes > self.best
        self.best = max(self.best, self.part.size_bytes)
        self.mirrors.failed(url, error, progress)

    def _finish(self, url: str) -> FileResult:
        if not self.part.is_whole:
            self._receive(url)
        checked = self._check()
        sha256, size_bytes, source = self.part.sha256, self.part.size_bytes, shown(url)
        write_receipt(self.where, self.where.part, sha256, source, checked)
        self.part.publish(self.where.target)
        seconds = time.monotonic() - self.start_s
        return FileResult(
            self.file.path,
            size_bytes,
            sha256,
            source,
            checked,
            self.fetched_bytes,
            seconds,
            self.mirrors.retries,
        )

    def _receive(self, url: str) -> None:
        part = self.part
        if part.size_bytes and not part.may_continue_from(url):
            self._throw_away()
        source = self.around.sources[scheme(url)]
        with source.open(url, part.size_bytes, part.validator_for(url)) as opened:
            self._refuse_wrong_size(opened.total)
            if opened.offset < part.size_bytes:  # the source knows no ranges, or has a new state
                self._throw_away()
            total = opened.total if self.file.size_bytes is None else self.file.size_bytes
            part.begin(url, opened.validator, total)
            self._refuse_full_disk()
            try:
                self._copy(opened)
            finally:
                part.mark()
        if part.total is not None and part.size_bytes < part.total:
            raise Transient(f"ends at byte {part.size_bytes} of {part.total}")

    def _copy(self, opened: Opened) -> None:
        retry = self.around.request.retry
        pace = _Pace(retry.timeout_s, retry.least_bytes_s)
        head, rest = _head_of(opened.pieces)
        if head and self.part.size_bytes == 0:
            self._refuse_wrong_beginning(head, opened)
        for piece in chain([head], rest):
            if self.around.stop.is_set():
                raise Stopped
            self._take(piece)
            pace.count(len(piece))

    def _take(self, piece: bytes) -> None:
        total = self.part.total
        if total is not None and self.part.size_bytes + len(piece) > total:
            self._throw_away()
            raise Unusable(f"sends more than the {total} bytes of the file")
        self.part.append(piece)
        self.fetched_bytes += len(piece)
        self.around.on_bytes(len(piece))

    def _throw_away(self) -> None:
        self.around.on_bytes(-self.part.reset())

    def _refuse_wrong_size(self, total: int | None) -> None:
        wanted = self.file.size_bytes
        if wanted is not None and total is not None and wanted != total:
            raise Unusable(f"has a file of {total} bytes where the list says {wanted}")

    def _refuse_wrong_beginning(self, head: bytes, opened: Opened) -> None:
        head = head[: checks.HEAD_BYTES]
        try:
            checks.refuse_wrong_beginning(self.file, head, opened.media_type, opened.coding)
        except checks.NotAsWanted as error:
            raise Unusable(f"sends something else: {error}") from error

    def _refuse_full_disk(self) -> None:
        free = storage.free_bytes(str(self.around.out))
        missing = (self.part.total or 0) - self.part.size_bytes
        if free is not None and missing > free:
            raise DiskFull(
                f"{self.file.path} needs {progress.amount(missing)} more, but {self.around.out} "
                f"has {progress.amount(free)} free: free some space and run the same command again"
            )

    def _check(self) -> checks.Checked:
        part, check_zstd = self.part, self.around.request.check_zstd
        try:
            return checks.check(self.file, part.path, part.size_bytes, part.sha256, check_zstd)
        except checks.NotAsWanted as error:
            alone = part.is_of_one_pass
            self._throw_away()
            if alone:
                raise Unusable(f"gives a wrong file: {error}") from error
            # Bytes of several answers: which one is at fault is not known, so all is asked anew.
            raise Transient(f"together with earlier bytes gives a wrong file: {error}") from error


def _head_of(pieces: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, enough of them to tell the format, and the pieces after them."""
    head = b""
    while len(head) < checks.HEAD_BYTES and (piece := next(pieces, b"")):
        head += piece
    return head, pieces


class _Pace:
    """Notices a source that trickles: too few bytes over each stretch of time."""

    def __init__(self, stretch_s: float, least_bytes_s: float) -> None:
        self.stretch_s, self.least_bytes = stretch_s, least_bytes_s * stretch_s
        self.since_s, self.bytes = time.monotonic(), 0

    def count(self, size_bytes: int) -> None:
        self.bytes += size_bytes
        now = time.monotonic()
        if now - self.since_s < self.stretch_s:
            return
        if self.bytes < self.least_bytes:
            raise Transient(f"gives only {self.bytes} bytes in {now - self.since_s:.0f} s")
        self.since_s, self.bytes = now, 0
