"""Files of a corpus from their mirrors, a batch of files a task."""

from __future__ import annotations

from typing import Any

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from pydantic import BaseModel, ConfigDict, Field

from seamount.core import progress
from seamount.core.wording import counted
from seamount.corpora.text.download import download, listing
from seamount.corpora.text.download.addresses import shown
from seamount.corpora.text.download.request import (
    DownloadRequest,
    FileResult,
    RemoteFile,
    RetryPolicy,
)
from seamount.tracking.run import Run
from tasks import publish
from tasks.caching import worth_retrying
from tasks.corpus_stages import in_groups
from tasks.reference import Artefact, describe
from tasks.tracking import station

_ROWS = 500
_settings: dict[str, Any] = {
    "cache_policy": NO_CACHE,  # files that stand are found by their receipts
    "retries": 2,
    "retry_delay_seconds": [5, 60],
    "retry_condition_fn": worth_retrying,
}


class DownloadOptions(BaseModel):
    """How files are fetched and checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sha256sums: str | None = Field(
        None, min_length=1, description="Path or URL of digests as sha256sum writes them."
    )
    jobs: int = Field(4, ge=1, le=64, description="Files fetched at a time.")
    retries: int = Field(
        8, ge=0, le=1000, description="Failures in a row before a source is given up."
    )
    timeout_s: float = Field(
        30.0, ge=0.1, le=3600, description="Silence after which a source is asked anew."
    )
    check_zstd: bool = Field(True, description="Read .zst files without a digest to their end.")

    def request(self, files: tuple[RemoteFile, ...], out: str) -> DownloadRequest:
        """The library's request for `files`."""
        retry = RetryPolicy(retries=self.retries, timeout_s=self.timeout_s)
        return DownloadRequest(files, out, self.jobs, self.check_zstd, retry)


@task(
    description="List the files, their mirrors and digests; look at the disk's room.", **_settings
)
def find_files(
    sources: list[str], base_urls: list[str], out: str, options: DownloadOptions, run: Run
) -> tuple[RemoteFile, ...]:
    """All files; raises DiskFull where they cannot all be stored."""
    with station(run, "files", f"files: {', '.join(shown(source) for source in sources)}"):
        files = listing.read_files(sources, base_urls, options.sha256sums)
        planned = download.plan(options.request(files, out))
        download.refuse_small_disk(planned, out)
        missing = progress.amount(planned.missing_bytes)
        get_run_logger().info(f"{counted(len(files), 'file')}, {missing} to fetch")
    return files


def fetch(
    files: tuple[RemoteFile, ...], out: str, options: DownloadOptions, run: Run
) -> list[FileResult]:
    """Every file whole in `out`, by tasks over batches of them."""
    with station(run, "download", f"download: {counted(len(files), 'file')} into {out}"):
        return [result for batch in in_groups(files) for result in fetch_batch(batch, out, options)]


@task(description="Fetch and check a batch of files; partial ones go on.", **_settings)
def fetch_batch(
    batch: tuple[RemoteFile, ...], out: str, options: DownloadOptions
) -> tuple[FileResult, ...]:
    """One result a file, in their order."""
    done = download.download(options.request(batch, out))
    fetched, retries = progress.amount(done.fetched_bytes), done.retries
    get_run_logger().info(f"{counted(len(batch), 'file')} stand, {fetched}, retries: {retries}")
    return done.files


@task(description="Show the files: bytes, rate, retries, how they were checked.", **_settings)
def report_files(results: list[FileResult], out: str, run: Run) -> Artefact:
    """The reference to the folder of files."""
    total = sum(one.size_bytes for one in results)
    fetched, retries = sum(o.fetched_bytes for o in results), sum(o.retries for o in results)
    says = f"{counted(len(results), 'file')}, {progress.amount(total)}"
    publish.table("downloaded-files", [_row(one) for one in results[:_ROWS]], says)
    run.log_metrics({"download/bytes": fetched, "download/retries": retries})
    return describe("download", out, files=len(results), bytes=total, fetched_bytes=fetched)


def _row(one: FileResult) -> dict[str, Any]:
    return {
        "file": one.path,
        "bytes": one.size_bytes,
        "MB/s": one.bytes_per_s / 1e6,
        "retries": one.retries,
        "checked by": one.checked,
        "from": "stood already" if one.reused else one.source,
        "sha256": one.sha256,
    }
