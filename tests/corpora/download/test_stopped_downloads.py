"""Killed, doubled, out of room: a rerun goes on, and nothing half stands under a name."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from killing import in_child, kill_at_event
from misbehaving_server import Fault, MirrorServer, sha256
from quick_requests import MARK_BYTES, Asked

from seamount.core import lineage, storage
from seamount.core.errors import DiskFull, SeamountError, UserError
from seamount.corpora.text.download.download import download, plan
from seamount.corpora.text.download.request import DownloadRequest, RemoteFile

NAME = "train/00.jsonl.zst"


def remote(server: MirrorServer, content: bytes | None) -> RemoteFile:
    return RemoteFile(NAME, (server.url("f"),), sha256=content and sha256(content))


def killed(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def own(request: DownloadRequest, suffix: str) -> Path:
    return Path(request.out) / ".downloads" / f"{NAME}{suffix}"


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("digest", [True, False])
def test_killed_in_the_middle_it_goes_on_at_the_last_mark(
    digest: bool, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    held = Fault(hold=threading.Event(), hold_after=150_000, piece_bytes=10_000)
    server.serve("f", content, held)
    request = asked(remote(server, content if digest else None))
    pid = in_child(lambda: download(request))
    until(lambda: server.sent("f") == 150_000 and own(request, ".part.json").exists())
    # Marks are 20,000 bytes apart or a little more, as the pieces fall.
    until(lambda: storage.read_json(str(own(request, ".part.json")))["marks"][-1][0] >= 120_000)
    killed(pid)
    assert not (Path(request.out) / NAME).exists()

    found = download(request)
    held.hold.set()
    assert (Path(request.out) / NAME).read_bytes() == content
    start = server.gets[1].start
    assert 150_000 - 2 * MARK_BYTES <= start <= 150_000
    assert len(server.gets) == 2 and server.gets[1].sent == len(content) - start
    assert found.fetched_bytes == len(content) - start


def test_killed_again_and_again_at_random_places(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    """What is asked for twice is bounded: by what lies between two marks, for each kill."""
    pieces = Fault(pause_s=0.002, piece_bytes=4_000)
    server.serve("f", content, pieces, always=True)
    request = asked(remote(server, content))
    random, kills = Random(11), 0
    target = Path(request.out) / NAME
    while not target.exists():
        more = server.sent("f") + random.randint(25_000, 80_000)
        pid = in_child(lambda: download(request))
        until(lambda more=more: server.sent("f") >= more or target.exists())
        os.kill(pid, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
        assert not target.exists() or target.read_bytes() == content
    download(request)
    assert target.read_bytes() == content and kills > 2
    starts = [r.start for r in server.gets]
    assert starts == sorted(starts) and starts[-1] > 100_000


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_before_operations_on_files(
    step: int, server: MirrorServer, content: bytes, tmp_path: Path
) -> None:
    """Without digest and size, so that only the receipt tells whose file stands there."""
    server.serve("f", content)
    file, kills = RemoteFile(NAME, (server.url("f"),)), 0
    for number in range(1, 100, step):
        request = DownloadRequest((file,), str(tmp_path / f"at-{number}"), mark_bytes=150_000)

        def work(number: int = number, request: DownloadRequest = request) -> None:
            kill_at_event(number, request.out)
            download(request)

        if not os.WIFSIGNALED(os.waitpid(in_child(work), 0)[1]):
            break
        kills += 1
        target = Path(request.out) / NAME
        assert not target.exists() or target.read_bytes() == content
        assert download(request).files[0].sha256 == sha256(content)
        assert target.read_bytes() == content
        assert not own(request, ".part").exists() and not own(request, ".part.json").exists()
    assert 5 < kills < 30 or step == 1


@pytest.mark.parametrize("what", ["bytes", "tail", "cut", "state", "marks", "gone"])
def test_a_part_is_not_trusted_blindly(
    what: str, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    gone = Fault(status=404)
    served = server.serve("f", content, Fault(drop_after=150_000), gone)
    request = asked(remote(server, content))
    with pytest.raises(SeamountError, match="404"):
        download(request)
    part, state = own(request, ".part"), own(request, ".part.json")
    there, known = bytearray(part.read_bytes()), json.loads(state.read_text())
    assert bytes(there) == content[:150_000] and known["marks"][-1][0] == 150_000
    if what == "bytes":
        there[100_000] ^= 1
    elif what == "tail":
        there += b"written by somebody else"
    elif what == "cut":
        del there[100_000:]
    elif what == "marks":
        known["marks"] = known["marks"][::-1]
    part.write_bytes(there)
    state.write_text("{" if what == "state" else json.dumps(known))
    if what == "gone":
        state.unlink()
    served.faults = []
    server.gets.clear()
    download(request)
    assert (Path(request.out) / NAME).read_bytes() == content
    start = server.gets[0].start
    ends = [end for end, _ in sorted(known["marks"])]
    below = max(end for end in ends if end <= 100_000)
    wanted = {"tail": 150_000, "bytes": below, "cut": below}
    assert start == wanted.get(what, 0)
    assert len(server.gets) == 1  # and what was kept was right: no second pass


def test_two_at_once_fetch_once(server: MirrorServer, content: bytes, asked: Asked) -> None:
    held = Fault(hold=threading.Event(), hold_after=100_000, piece_bytes=10_000)
    server.serve("f", content, held)
    request = asked(remote(server, content))
    pids = [in_child(lambda: download(request)) for _ in range(3)]
    until(lambda: server.sent("f") == 100_000)
    time.sleep(0.15)  # the others find the lock taken
    held.hold.set()
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0, 0, 0]
    assert (Path(request.out) / NAME).read_bytes() == content
    assert len(server.gets) == 1
    assert lineage.read(request.out).parameters["files"][NAME]["sha256"] == sha256(content)


def test_a_killed_holder_leaves_no_lock(server: MirrorServer, content: bytes, asked: Asked) -> None:
    held = Fault(hold=threading.Event(), hold_after=100_000, piece_bytes=10_000)
    server.serve("f", content, held)
    request = asked(remote(server, content))
    first = in_child(lambda: download(request))
    until(lambda: server.sent("f") == 100_000)
    second = in_child(lambda: download(request))
    killed(first)
    assert os.waitpid(second, 0)[1] == 0
    held.hold.set()
    assert (Path(request.out) / NAME).read_bytes() == content


def test_the_disk_is_looked_at_before(
    server: MirrorServer, content: bytes, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [RemoteFile(f"{n}.zst", (server.url("f"),)) for n in range(3)]
    server.serve("f", content)
    request = asked(*files)
    assert plan(request).missing_bytes == 3 * len(content)  # asked of the server
    monkeypatch.setattr(storage, "free_bytes", lambda _: 2 * len(content))
    says = r"needs 879\.0 KiB, but .*/out has 586\.0 KiB free: free some space, or choose another"
    with pytest.raises(DiskFull, match=says):
        download(request)
    assert server.gets == [] and not Path(request.out).exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "out"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=160k", "tmpfs", disk]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("only root may mount the small disk that this test fills")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_disk_that_fills_up(
    small_disk: Path, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    """The server does not tell the size, so that it cannot be known before."""
    server.serve("f", content, chunked=True)
    request = asked(remote(server, content))
    with pytest.raises(DiskFull, match=r"no space left .* while writing .*same command again"):
        download(request)
    assert not (small_disk / NAME).exists() and len(server.gets) == 1
    subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
    download(request)
    assert (small_disk / NAME).read_bytes() == content
    assert server.gets[1].start >= 60_000


def test_a_file_of_somebody_else_is_kept(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content)
    request = asked(remote(server, content))
    target = Path(request.out) / NAME
    target.parent.mkdir(parents=True)
    target.write_bytes(b"mine")
    with pytest.raises(UserError, match=r"stands already and is not the file wanted .*move it"):
        download(request)
    with pytest.raises(UserError, match="neither size nor digest"):
        download(asked(remote(server, None)))
    assert target.read_bytes() == b"mine" and server.gets == []
    target.write_bytes(content)  # by hand, but the right one
    assert download(request).files[0].reused and server.gets == []


def test_what_a_download_wrote_gives_way_to_what_the_list_names_now(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    served = server.serve("f", content)
    download(asked(remote(server, content)))
    served.content = content + content
    request = asked(remote(server, served.content))
    assert download(request).files[0].sha256 == sha256(served.content)
    assert (Path(request.out) / NAME).read_bytes() == served.content
    (Path(request.out) / NAME).write_bytes(b"edited")  # no longer what the download wrote
    with pytest.raises(UserError, match="move it away"):
        download(request)


def test_one_failure_does_not_stop_the_others(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content)
    files = [RemoteFile(f"{n}.zst", (server.url("f"),)) for n in range(4)]
    files.insert(1, RemoteFile("missing.zst", (server.url("g"),)))
    request = asked(*files, jobs=2)
    with pytest.raises(SeamountError, match=r"1 of 5 files failed: no source gives missing.zst"):
        download(request)
    assert sorted(p.name for p in Path(request.out).glob("*.zst")) == [f"{n}.zst" for n in range(4)]


def test_jobs_bound_what_is_fetched_at_a_time(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    held = Fault(hold=threading.Event())
    server.serve("f", content, held, always=True)
    request = asked(*(RemoteFile(f"{n}.zst", (server.url("f"),)) for n in range(5)), jobs=3)
    thread = threading.Thread(target=download, args=(request,))
    thread.start()
    until(lambda: len(server.gets) == 3)
    time.sleep(0.1)
    assert len(server.gets) == 3
    held.hold.set()
    thread.join()
    assert len(server.gets) == 5


def test_an_interrupt_keeps_what_came(server: MirrorServer, content: bytes, asked: Asked) -> None:
    held = Fault(pause_s=0.02, piece_bytes=10_000)
    server.serve("f", content, held)
    request = asked(remote(server, content))
    pid = in_child(lambda: download(request))
    until(lambda: server.sent("f") >= 100_000)
    os.kill(pid, signal.SIGINT)
    assert os.waitpid(pid, 0)[1] != 0
    assert not (Path(request.out) / NAME).exists()
    came = own(request, ".part").stat().st_size
    assert came >= 90_000
    download(request)
    assert server.gets[1].start == came


def test_a_corpus_and_other_artefacts_are_no_place_for_downloads(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content)
    request = asked(remote(server, content))
    storage.write_json(f"{request.out}/manifest.json", {})
    with pytest.raises(UserError, match="holds a built corpus"):
        download(request)
    Path(request.out, "manifest.json").unlink()
    lineage.write(request.out, lineage.Lineage("model", "0"))
    with pytest.raises(UserError, match="holds another artefact"):
        download(request)
    with pytest.raises(UserError, match="no file to download"):
        download(asked())
