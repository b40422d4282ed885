"""A server, files for it, and a request with waits of milliseconds."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import swift_server
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


@pytest.fixture(scope="module", params=["moto", pytest.param("swift", marks=pytest.mark.slow)])
def endpoint(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of an S3 store on this machine; both know the same keys."""
    if request.param == "moto":
        with _moto() as url:
            yield url
        return
    folder = tmp_path_factory.mktemp("swift")
    if missing := swift_server.why_not(folder):
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"a store of OpenStack Swift {missing}")
    with swift_server.running(folder) as url:
        yield url


@contextmanager
def _moto() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of an empty bucket `pile`; the environment leads s3fs there."""
    import botocore.session
    import s3fs

    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", swift_server.ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", swift_server.SECRET_KEY)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    client = botocore.session.get_session().create_client("s3")
    client.create_bucket(Bucket="pile")
    yield client
    for item in client.list_objects_v2(Bucket="pile").get("Contents", []):
        client.delete_object(Bucket="pile", Key=item["Key"])
    client.delete_bucket(Bucket="pile")
    client.close()
    s3fs.S3FileSystem.clear_instance_cache()
