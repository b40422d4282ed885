"""One remote file of the tests, and what came of it."""

from __future__ import annotations

from pathlib import Path

from misbehaving_server import MirrorServer, sha256

from seamount.corpora.text.download.request import RemoteFile

NAME = "train/00.jsonl.zst"
PAGE = b"<!DOCTYPE html><html><body>Sorry, this page is not available.</body></html>"


def remote(server: MirrorServer, content: bytes | None = None, **options: object) -> RemoteFile:
    """The file at `server`, with the digest of `content` where that is given."""
    digest = None if content is None else sha256(content)
    return RemoteFile(NAME, (server.url("f"),), sha256=digest, **options)  # type: ignore[arg-type]


def there(out: str) -> list[str]:
    """What stands below the folder in plain sight."""
    found = (p.relative_to(out) for p in Path(out).rglob("*") if p.is_file())
    return sorted(str(p) for p in found if not str(p).startswith(".") and str(p) != "lineage.json")


def bytes_of(out: str) -> bytes:
    assert there(out) == [NAME]
    return (Path(out) / NAME).read_bytes()
