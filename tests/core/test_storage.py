"""Storage: whole files or none, one sentence for an operating-system error, URLs alike."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from seamount.core import storage
from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError, explain_os_error


@pytest.mark.parametrize("scheme", ["path", "file", "memory"])
def test_write_then_read_gives_the_same_bytes(tmp_path: Path, scheme: str) -> None:
    base = {"path": str(tmp_path), "file": f"file://{tmp_path}", "memory": "memory://box"}[scheme]
    url = storage.join(base, "a", "b.bin")
    storage.write_bytes(url, b"\x00\xff" * 1000)
    assert storage.read_bytes(url) == b"\x00\xff" * 1000
    assert storage.size_bytes(url) == 2000
    assert storage.sha256(url) == hashlib.sha256(b"\x00\xff" * 1000).hexdigest()
    assert storage.list_files(base, (".bin",)) == [url]


def test_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "shard.zst"
    with pytest.raises(RuntimeError), storage.atomic_write(str(target)) as stream:
        stream.write(b"half")
        raise RuntimeError("killed")
    assert list(tmp_path.iterdir()) == []


def test_failing_writer_keeps_the_old_content(tmp_path: Path) -> None:
    target = str(tmp_path / "LATEST")
    storage.write_bytes(target, b"old")
    with pytest.raises(KeyboardInterrupt), storage.atomic_write(target) as stream:
        stream.write(b"new")
        raise KeyboardInterrupt
    assert storage.read_bytes(target) == b"old"


def test_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], check=False)
    if done.returncode != 0:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("only root may mount the small disk that this test fills")
    try:
        with pytest.raises(DiskFull, match=r"no space left .* free some space"):
            storage.write_bytes(str(mount / "big"), os.urandom(1 << 20))
        assert list(mount.iterdir()) == []
    finally:
        subprocess.run(["umount", mount], check=True)


def test_missing_path_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="nothing stands at '/no/such/place'"):
        storage.list_files("/no/such/place")
    with pytest.raises(UserError, match="not found while reading /no/such/file"):
        storage.read_bytes("/no/such/file")
    with pytest.raises(UserError, match="nosuch"):
        storage.read_bytes("nosuch://bucket/key")


def test_json_that_is_not_json_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(CorruptData, match=r"x\.json is not valid JSON"):
        storage.read_json(str(tmp_path / "x.json"))


def test_hidden_files_are_not_listed(tmp_path: Path) -> None:
    for name in ("a.txt", ".hidden.txt", ".work/b.txt", "sub/c.txt"):
        storage.write_bytes(str(tmp_path / name), b"x")
    found = [Path(u).relative_to(tmp_path).as_posix() for u in storage.list_files(str(tmp_path))]
    assert found == ["a.txt", "sub/c.txt"]


def test_digest_of_does_not_depend_on_key_order() -> None:
    assert storage.digest_of({"a": 1, "b": [2]}) == storage.digest_of({"b": [2], "a": 1})
    assert storage.digest_of({"a": 1}) != storage.digest_of({"a": "1"})


def test_os_errors_have_exit_codes() -> None:
    full = explain_os_error(OSError(errno.ENOSPC, "No space left on device"), "writing x")
    denied = explain_os_error(OSError(errno.EACCES, "Permission denied"), "writing x")
    assert (full.exit_code, denied.exit_code) == (1, 2)


@pytest.mark.parametrize(
    ("protocol", "package"), [("s3", "s3fs"), ("gs", "gcsfs"), ("abfs", "adlfs")]
)
def test_a_store_without_its_package_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch, protocol: str, package: str
) -> None:
    loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
    for name in (package, *loaded):
        monkeypatch.setitem(sys.modules, name, None)  # not to be imported, installed or not
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, protocol, raising=False)
    with pytest.raises(UserError, match=f"{protocol}:// needs .* `pip install {package}`"):
        storage.exists(f"{protocol}://bucket/a.jsonl.zst")


def test_a_server_that_answers_with_an_error_is_one_sentence() -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(500)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuses) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/a.jsonl.zst"
        with pytest.raises(SeamountError, match=r"a\.jsonl\.zst.*500"), storage.open_read(url) as f:
            f.read()
        server.shutdown()


def test_a_remote_store_that_does_not_answer_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fs, _ = storage.filesystem("memory://")

    def lost(path: str) -> bool:
        raise ConnectionError("no\nroute")

    monkeypatch.setattr(type(fs), "exists", lambda self, path: lost(path))
    monkeypatch.setattr(type(fs), "isfile", lambda self, path: lost(path))
    for ask in (storage.exists, storage.list_files):
        with pytest.raises(SeamountError, match="cannot reach 'memory://x/y': no route"):
            ask("memory://x/y")


def test_a_store_that_deletes_no_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenStack Swift refuses DeleteObjects without Content-MD5; single objects it deletes."""
    import fsspec

    memory = fsspec.filesystem("memory")

    def refused(*_: object, **__: object) -> None:
        raise OSError(22, "Missing required header for this request: Content-MD5")

    monkeypatch.setattr(type(memory), "rm", refused)
    for name in ("a", "b/c"):
        storage.write_bytes(f"memory://single/{name}", b"x")
    storage.move("memory://single/a", "memory://single/d")
    assert memory.find("/single") == ["/single/b/c", "/single/d"]
    storage.remove_tree("memory://single")
    assert memory.find("/single") == []
