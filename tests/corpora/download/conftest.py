"""A server, files for it, and a request with waits of milliseconds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from misbehaving_server import MirrorServer, running
from quick_requests import MARK_BYTES, QUICK, Asked

from seamount.corpora.text.download.request import DownloadRequest, RemoteFile


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[MirrorServer]:
    with running() as one:
        yield one


@pytest.fixture
def other() -> Iterator[MirrorServer]:
    with running() as one:
        yield one


@pytest.fixture
def content() -> bytes:
    """A zstd file of two frames that hardly compress, 300 kB."""
    bits = random.Random(5).randbytes(300_000)
    compressor = zstandard.ZstdCompressor(write_checksum=True)
    return compressor.compress(bits[:200_000]) + compressor.compress(bits[200_000:])


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    """A request for some files into tmp_path/out."""

    def make(*files: RemoteFile, **options: object) -> DownloadRequest:
        given = {"retry": QUICK, "mark_bytes": MARK_BYTES, **options}
        return DownloadRequest(files, str(tmp_path / "out"), **given)  # type: ignore[arg-type]

    return make
