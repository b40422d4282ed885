"""Corpora built from and into s3://, against moto's server and OpenStack Swift (in CI)."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from quick_requests import Asked

from seamount.core import storage
from seamount.core.errors import SeamountError
from seamount.core.records import Document
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.build import CorpusRequest, build_corpus
from seamount.corpora.text.download.download import download
from seamount.corpora.text.download.request import RemoteFile
from seamount.corpora.text.manifest import load_manifest
from seamount.corpora.text.split import SPLITS, read_split


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Two files of thirty documents each."""
    words, folder = random.Random(3), tmp_path / "raw"
    for name in ("00", "01"):
        texts = [" ".join(str(words.random()) for _ in range(40)) for _ in range(30)]
        documents = (Document(text, "Numbers", "", "") for text in texts)
        jsonl_zst.write_documents(str(folder / f"{name}.jsonl.zst"), documents)
    return folder


def request(source: str, out: str) -> CorpusRequest:
    return CorpusRequest((source,), out, shard_bytes=15_000, test_share=0.1, val_share=0.1)


def shards(url: str) -> dict[str, str]:
    return {one["path"]: one["sha256"] for one in load_manifest(url)["shards"]}


def texts(url: str) -> dict[str, list[str]]:
    return {split: [one.text for one in read_split(url, split)] for split in SPLITS}


def test_a_corpus_from_and_into_a_bucket(store: Any, source: Path, tmp_path: Path) -> None:
    for path in source.iterdir():
        store.put_object(Bucket="pile", Key=f"raw/{path.name}", Body=path.read_bytes())
    local, remote = str(tmp_path / "corpus"), "s3://pile/out/corpus"
    build_corpus(request(str(source), local))
    build_corpus(request("s3://pile/raw", remote))
    assert len(shards(local)) > 3 and shards(remote) == shards(local)
    assert texts(remote) == texts(local)
    for name, digest in shards(remote).items():
        assert storage.sha256(f"{remote}/{name}") == digest
    assert build_corpus(request("s3://pile/raw", remote)).reused
    keys = [one["Key"] for one in store.list_objects_v2(Bucket="pile")["Contents"]]
    assert not [key for key in keys if "/.work" in key or ".partial-" in key]


def test_a_file_written_in_parts(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    monkeypatch.setattr(s3fs.S3FileSystem, "default_block_size", 5 << 20)
    content = random.Random(1).randbytes(12 << 20)
    storage.write_bytes("s3://pile/big.bin", content)
    assert store.get_object(Bucket="pile", Key="big.bin")["Body"].read() == content
    assert storage.list_files("s3://pile") == ["s3://pile/big.bin"]


@pytest.mark.parametrize(
    "endpoint", [pytest.param("swift", marks=pytest.mark.slow)], indirect=True
)  # moto takes any key
def test_wrong_keys_are_told(
    store: Any, source: Path, asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    store.put_object(Bucket="pile", Key="raw/00.jsonl.zst", Body=b"x")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    s3fs.S3FileSystem.clear_instance_cache()
    file = RemoteFile("00.jsonl.zst", ("s3://pile/raw/00.jsonl.zst",))
    with pytest.raises(SeamountError, match=r"raw/00.jsonl.zst: does not give .*Forbidden") as told:
        download(asked(file))
    assert "one after another" not in str(told.value)  # what is forbidden stays forbidden
    with pytest.raises(SeamountError, match=r"cannot reach 's3://pile/raw'.* check .*access"):
        build_corpus(request("s3://pile/raw", str(tmp_path / "corpus")))
    with pytest.raises(SeamountError, match=r"cannot reach 's3://pile/out/.* check .*access"):
        build_corpus(request(str(source), "s3://pile/out"))
