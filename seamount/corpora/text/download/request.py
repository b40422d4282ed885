"""What is asked of a download, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Checked = Literal["sha256", "zstd", "size", "nothing"]


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch: its path below the output folder, and where it can be had.

    `urls` are tried in their order (http, https, s3). `sha256` is lower-case hex.
    """

    path: str
    urls: tuple[str, ...]
    size_bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class RetryPolicy:
    """How long a source that fails is tried again.

    `retries` counts failures one after another without a byte of progress, of each source. The
    n-th of them waits a random time between a half and the whole of `base_s * 2**(n-1)`, at most
    `cap_s` (exponential backoff with jitter), or what Retry-After says if that is longer. A source
    that asks for more than `longest_wait_s` is given up, and so is one that stays silent for
    `timeout_s` again and again, or sends less than `least_bytes_s` over that time.
    """

    retries: int = 8
    base_s: float = 0.5
    cap_s: float = 60.0
    longest_wait_s: float = 600.0
    timeout_s: float = 30.0
    least_bytes_s: float = 512.0


@dataclass(frozen=True)
class DownloadRequest:
    """Files to fetch into the local folder `out`, at most `jobs` at a time.

    `check_zstd` reads a .zst file that has no digest to the end of its last frame. After every
    `mark_bytes` a partial file is marked with its digest: a rerun continues at the last mark.
    """

    files: tuple[RemoteFile, ...]
    out: str
    jobs: int = 4
    check_zstd: bool = True
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    mark_bytes: int = 16 << 20


@dataclass(frozen=True)
class FileResult:
    """One file that now stands whole under its name.

    `source` is the URL that gave its last bytes, without credentials and query. `fetched_bytes`
    came over the network in this call, in `seconds`; 0 where the file stood already (`reused`).
    """

    path: str
    size_bytes: int
    sha256: str
    source: str
    checked: Checked
    fetched_bytes: int = 0
    seconds: float = 0.0
    retries: int = 0
    reused: bool = False

    @property
    def bytes_per_s(self) -> float:
        """Mean rate of this call, waits included."""
        return self.fetched_bytes / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class DownloadRef:
    """The folder `url` that holds all `files`; `digest` covers their paths and contents."""

    url: str
    digest: str
    files: tuple[FileResult, ...]
    size_bytes: int
    fetched_bytes: int
    retries: int
    seconds: float
