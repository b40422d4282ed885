"""s3:// against two S3 endpoints on this machine: moto's server, and OpenStack Swift (in CI)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from misbehaving_server import sha256
from quick_requests import Asked

from seamount.core.errors import SeamountError
from seamount.corpora.text.download import object_source
from seamount.corpora.text.download.download import download, plan
from seamount.corpora.text.download.listing import read_files
from seamount.corpora.text.download.request import RemoteFile

NAME = "train/00.jsonl.zst"
URL = "s3://pile/train/00.jsonl.zst"


def put(store: Any, content: bytes, key: str = NAME) -> None:
    store.put_object(Bucket="pile", Key=key, Body=content)


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Small pieces, and a log of those asked for."""
    import s3fs

    monkeypatch.setattr(object_source, "_PIECE_BYTES", 50_000)
    seen: list[tuple[int, int]] = []
    original = s3fs.S3FileSystem.cat_file

    def logged(self: Any, path: str, start: int, end: int) -> bytes:
        seen.append((start, end))
        return original(self, path, start=start, end=end)

    monkeypatch.setattr(s3fs.S3FileSystem, "cat_file", logged)
    return seen


def test_ranges_of_an_object(
    store: Any, content: bytes, asked: Asked, ranges: list[tuple[int, int]]
) -> None:
    put(store, content)
    request = asked(RemoteFile(NAME, (URL,), sha256=sha256(content)))
    assert plan(request).missing_bytes == len(content)
    assert download(request).fetched_bytes == len(content)
    assert (Path(request.out) / NAME).read_bytes() == content
    assert len(ranges) == 7 and ranges[0] == (0, 50_000) and ranges[-1][1] == len(content)


def test_an_object_uploaded_in_parts(store: Any, content: bytes, asked: Asked) -> None:
    """Its entity tag is no MD5 of the whole, and is used as a mark of its state only."""
    parts = [content * 18, content]  # parts but the last have 5 MiB at least
    key = {"Bucket": "pile", "Key": NAME}
    upload = store.create_multipart_upload(**key)["UploadId"]
    tags = [
        store.upload_part(**key, UploadId=upload, PartNumber=number, Body=part)["ETag"]
        for number, part in enumerate(parts, 1)
    ]
    listed = [{"ETag": tag, "PartNumber": number} for number, tag in enumerate(tags, 1)]
    store.complete_multipart_upload(**key, UploadId=upload, MultipartUpload={"Parts": listed})
    assert store.head_object(**key)["ETag"].endswith('-2"')
    request = asked(RemoteFile(NAME, (URL,)))
    found = download(request).files[0]
    assert found.sha256 == sha256(b"".join(parts)) and found.checked == "zstd"


@pytest.mark.parametrize("digest", [True, False])
def test_a_broken_fetch_goes_on(
    digest: bool,
    store: Any,
    content: bytes,
    asked: Asked,
    ranges: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import s3fs

    put(store, content)
    whole, broken = s3fs.S3FileSystem.cat_file, [True, True]

    def breaks(self: Any, path: str, start: int, end: int) -> bytes:
        if start == 150_000 and broken:
            broken.pop()
            raise OSError("connection reset")
        return whole(self, path, start=start, end=end)

    monkeypatch.setattr(s3fs.S3FileSystem, "cat_file", breaks)
    request = asked(RemoteFile(NAME, (URL,), sha256=sha256(content) if digest else None))
    assert download(request).retries == 2
    assert (Path(request.out) / NAME).read_bytes() == content
    starts = [start for start, _ in ranges]
    assert starts == sorted(set(starts))  # no byte twice


def test_an_object_that_changes_meanwhile_starts_anew(
    store: Any,
    content: bytes,
    asked: Asked,
    ranges: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import s3fs

    put(store, content)
    changed = bytes(byte ^ 1 for byte in content)
    whole = s3fs.S3FileSystem.cat_file

    def changes(self: Any, path: str, start: int, end: int) -> bytes:
        if start == 100_000 and len(ranges) == 2:
            put(store, changed, "f.bin")
        return whole(self, path, start=start, end=end)

    put(store, content, "f.bin")
    monkeypatch.setattr(s3fs.S3FileSystem, "cat_file", changes)
    request = asked(RemoteFile("f.bin", ("s3://pile/f.bin",)))
    assert download(request).retries == 1
    assert (Path(request.out) / "f.bin").read_bytes() == changed


def test_what_is_not_there(store: Any, asked: Asked) -> None:
    request = asked(RemoteFile(NAME, (URL, "s3://no-such-bucket/x")))
    with pytest.raises(SeamountError, match=r"no source gives .*does not give the object") as told:
        download(request)
    assert "one after another" not in str(told.value)  # what is missing stays missing


def test_a_mirror_in_another_protocol(
    store: Any, content: bytes, asked: Asked, server: Any
) -> None:
    put(store, content)
    file = RemoteFile(NAME, (server.url("missing"), URL), sha256=sha256(content))
    assert download(asked(file)).files[0].source == URL


def test_a_folder_of_a_bucket(store: Any, content: bytes, asked: Asked) -> None:
    put(store, content, "pile/train/00.jsonl.zst")
    put(store, content, "pile/val.jsonl.zst")
    files = read_files(["s3://pile/pile/"])
    assert [f.path for f in files] == ["train/00.jsonl.zst", "val.jsonl.zst"]
    assert download(asked(*files)).size_bytes == 2 * len(content)
