"""`download(request)`: many files at a time, each resumed, checked and published on its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core import lineage, progress, storage
from seamount.core.errors import DiskFull, SeamountError, UserError
from seamount.corpora.text import manifest
from seamount.corpora.text.download.addresses import SCHEMES, scheme
from seamount.corpora.text.download.fetch_file import Surroundings, fetch_file
from seamount.corpora.text.download.http_source import HttpSource
from seamount.corpora.text.download.object_source import ObjectSource
from seamount.corpora.text.download.refusals import refuse_bad_request
from seamount.corpora.text.download.request import (
    DownloadRef,
    DownloadRequest,
    FileResult,
    RemoteFile,
)
from seamount.corpora.text.download.sources import Source
from seamount.corpora.text.download.standing import FOLDER, locked, places, receipt_of

_KIND = "download"
_TOLD_FAILURES = 3


@dataclass(frozen=True)
class PlannedFile:
    """A file to fetch, its size as far as it is known, and how much of it is here already."""

    file: RemoteFile
    size_bytes: int | None
    here_bytes: int

    @property
    def missing_bytes(self) -> int:
        """What is still to be fetched, 0 where the size is not known."""
        return max(0, (self.size_bytes or 0) - self.here_bytes)


@dataclass(frozen=True)
class DownloadPlan:
    """What a download would fetch, and the room there is for it."""

    files: tuple[PlannedFile, ...]
    free_bytes: int | None

    @property
    def missing_bytes(self) -> int:
        """Sum of what is still to be fetched, over files of known size."""
        return sum(planned.missing_bytes for planned in self.files)


def plan(request: DownloadRequest) -> DownloadPlan:
    """What would be fetched; sizes that no list gives are asked of the sources."""
    out = _folder(request)
    with _sources(request) as sources:
        return _planned(request, out, sources)


def download(request: DownloadRequest) -> DownloadRef:
    """Fetch all files of the request; those that stand already are not fetched again.

    Killed or failed at any moment, the same call continues: whole files are kept, partial ones go
    on at their last mark. Nothing but whole, checked files stands below `out`.

    Raises DiskFull before the first byte where the room is too small; UserError for a file of
    someone else under a wanted name; SeamountError where some file could not be had (all others are
    fetched first).
    """
    out = _folder(request)
    start_s = time.monotonic()
    with _sources(request) as sources:
        planned = _planned(request, out, sources)
        refuse_small_disk(planned, str(out))
        known = all(one.size_bytes is not None for one in planned.files)
        total = planned.missing_bytes if known else None
        with progress.bar("download", total, in_bytes=True) as bar:
            results = _fetch_all(request, out, sources, bar)
    storage.make_folder(str(out))
    _write_lineage(out)
    return _reference(out, results, time.monotonic() - start_s)


def refuse_small_disk(planned: DownloadPlan, out: str) -> None:
    """Raise DiskFull where what is missing is more than the folder's device has room for."""
    free = planned.free_bytes
    if free is not None and planned.missing_bytes > free:
        raise DiskFull(
            f"the download needs {progress.amount(planned.missing_bytes)}, but {out} has "
            f"{progress.amount(free)} free: free some space, or choose another output folder"
        )


def _folder(request: DownloadRequest) -> Path:
    refuse_bad_request(request)
    out = storage.local_path(request.out).expanduser().absolute()
    if manifest.is_corpus(str(out)):
        raise UserError(f"{out} holds a built corpus: choose another folder for the download")
    known = out / lineage.FILE_NAME
    if known.exists() and lineage.read(str(out)).kind != _KIND:
        raise UserError(f"{out} holds another artefact: choose another folder for the download")
    return out


@contextmanager
def _sources(request: DownloadRequest) -> Iterator[dict[str, Source]]:
    http, objects = HttpSource(request.retry.timeout_s, request.jobs), ObjectSource()
    try:
        yield {name: http if name.startswith("http") else objects for name in SCHEMES}
    finally:
        http.close()


def _planned(request: DownloadRequest, out: Path, sources: dict[str, Source]) -> DownloadPlan:
    def one(file: RemoteFile) -> PlannedFile:
        where = places(out, file.path)
        if where.target.exists():
            size = where.target.stat().st_size
            if file.size_bytes in (None, size):
                return PlannedFile(file, size, size)
        size_bytes = file.size_bytes
        for url in file.urls:
            size_bytes = sources[scheme(url)].size_bytes(url) if size_bytes is None else size_bytes
        here = where.part.stat().st_size if where.part.exists() else 0
        return PlannedFile(file, size_bytes, here)

    with ThreadPoolExecutor(request.jobs, "download-plan") as pool:
        files = tuple(pool.map(one, request.files))
    return DownloadPlan(files, storage.free_bytes(str(out)))


def _fetch_all(
    request: DownloadRequest, out: Path, sources: dict[str, Source], bar: progress.Bar
) -> list[FileResult]:
    stop, guard = threading.Event(), threading.Lock()
    finished = 0

    def on_bytes(size_bytes: int) -> None:
        with guard:
            bar.advance(size_bytes, f"{finished} of {len(request.files)} files")

    around = Surroundings(request, out, sources, stop, on_bytes)
    with ThreadPoolExecutor(request.jobs, "download") as pool:
        futures: list[Future[FileResult]] = [
            pool.submit(fetch_file, file, around, places(out, file.path)) for file in request.files
        ]
        waiting: set[Future[FileResult]] = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                finished += len(done)
                _raise_what_stops_all(done)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    _raise_failures(request.files, futures)
    return [future.result() for future in futures]


def _raise_what_stops_all(done: set[Future[FileResult]]) -> None:
    """A full disk, or a fault of ours, fails every other file too: no use to go on."""
    for future in done:
        error = future.exception()
        if isinstance(error, DiskFull) or not isinstance(error, SeamountError | None):
            raise error


def _raise_failures(files: tuple[RemoteFile, ...], futures: list[Future[FileResult]]) -> None:
    errors = [error for future in futures if (error := future.exception()) is not None]
    if not errors:
        return
    if len(files) == 1:
        raise errors[0]
    told = "; ".join(str(error) for error in errors[:_TOLD_FAILURES])
    more = f"; and {len(errors) - _TOLD_FAILURES} more" if len(errors) > _TOLD_FAILURES else ""
    mistakes = all(isinstance(error, UserError) for error in errors)
    raise (UserError if mistakes else SeamountError)(
        f"{len(errors)} of {len(files)} files failed: {told}{more}; the others stand: run the same "
        "command again for these"
    )


def _reference(out: Path, results: list[FileResult], seconds: float) -> DownloadRef:
    return DownloadRef(
        url=str(out),
        digest=storage.digest_of(sorted((one.path, one.sha256) for one in results)),
        files=tuple(results),
        size_bytes=sum(one.size_bytes for one in results),
        fetched_bytes=sum(one.fetched_bytes for one in results),
        retries=sum(one.retries for one in results),
        seconds=seconds,
    )


def _write_lineage(out: Path) -> None:
    """Name the source and digest of every file that was ever fetched into `out` and still stands.

    Several downloads may fill one folder, at the same time too.
    """
    with locked(out / FOLDER / "lineage.lock", threading.Event()):
        files: dict[str, dict[str, Any]] = {}
        for receipt in sorted((out / FOLDER).rglob("*.receipt")):
            path = str(receipt.relative_to(out / FOLDER)).removesuffix(".receipt")
            if found := receipt_of(places(out, path)):
                files[path] = {"source": found["source"], "sha256": found["sha256"]}
        digest = storage.digest_of([[path, one["sha256"]] for path, one in files.items()])
        record = lineage.Lineage(_KIND, digest, parameters={"files": files})
        lineage.write(str(out), record)
