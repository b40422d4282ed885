"""Each way in which a server is broken, against a real one: the file comes whole or not at all."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path

import pytest
from misbehaving_server import Fault, MirrorServer, sha256
from one_file import NAME, PAGE, bytes_of, remote, there
from quick_requests import QUICK, Asked

from seamount.core.errors import SeamountError
from seamount.corpora.text.download.download import download
from seamount.corpora.text.download.http_source import retry_after_s
from seamount.corpora.text.download.request import RemoteFile, RetryPolicy


def test_a_server_that_behaves(server: MirrorServer, content: bytes, asked: Asked) -> None:
    server.serve("f", content)
    request = asked(remote(server, content))
    found = download(request)
    assert bytes_of(request.out) == content
    one = found.files[0]
    assert (one.checked, one.retries, one.fetched_bytes) == ("sha256", 0, len(content))
    assert one.sha256 == sha256(content) and one.bytes_per_s > 0

    again = download(request)
    assert again.files[0].reused and again.fetched_bytes == 0 and again.digest == found.digest
    assert len(server.gets) == 1


@pytest.mark.parametrize("digest", [True, False])
def test_dropped_connections_cost_only_what_is_missing(
    digest: bool, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, *(Fault(drop_after=30_000) for _ in range(6)))
    request = asked(remote(server, content if digest else None))
    found = download(request)
    assert bytes_of(request.out) == content
    assert found.retries == 6 and server.sent("f") == len(content)
    starts = [r.start for r in server.gets]
    assert starts == [30_000 * n for n in range(7)]
    assert {r.if_range for r in server.gets[1:]} == {'"one"'}


def test_a_server_that_drops_without_a_byte_is_given_up(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(drop_after=50_000), Fault(drop_after=0), always=True)
    request = asked(remote(server, content))
    with pytest.raises(SeamountError, match=r"no source gives train/00.*4 times one after another"):
        download(request)
    assert there(request.out) == [] and len(server.gets) == 5
    server.files["/f"].faults = []
    assert download(request).fetched_bytes == len(content) - 50_000


@pytest.mark.parametrize("digest", [True, False])
def test_a_server_without_ranges_starts_anew(
    digest: bool, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    faults = [Fault(drop_after=100_000), Fault(ignore_range=True)]
    server.serve("f", content, *faults)
    request = asked(remote(server, content if digest else None))
    assert download(request).fetched_bytes == 100_000 + len(content)
    assert bytes_of(request.out) == content


def test_a_server_without_ranges_that_always_drops_is_given_up(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(drop_after=100_000, ignore_range=True), always=True)
    request = asked(remote(server, content))
    with pytest.raises(SeamountError, match=r"ends at byte|breaks the connection"):
        download(request)
    assert there(request.out) == [] and len(server.gets) == 2 + QUICK.retries


@pytest.mark.parametrize("heeds_if_range", [True, False])
def test_a_file_that_changed_meanwhile_starts_anew(
    heeds_if_range: bool, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    """Nothing but the tag would tell: both are of one size, and there is no digest or container."""
    changed = bytes(byte ^ 1 for byte in content)
    served = server.serve("f", content, Fault(drop_after=250_000), Fault(status=404))
    request = asked(RemoteFile("f.bin", (server.url("f"),)))
    with pytest.raises(SeamountError, match="404"):
        download(request)
    served.content, served.etag = changed, '"two"'
    served.faults = [Fault(ignore_if_range=not heeds_if_range)]
    download(request)
    assert (Path(request.out) / "f.bin").read_bytes() == changed
    asked_for = [(r.start, r.if_range) for r in server.gets[2:]]
    assert asked_for == [(250_000, '"one"'), (0, None)][: 1 if heeds_if_range else 2]


def test_without_a_state_to_compare_a_part_is_not_continued(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(drop_after=100_000), etag=None)
    download(asked(remote(server)))
    assert [r.start for r in server.gets] == [0, 0]


def test_a_weak_tag_is_no_state_but_the_time_of_change_is(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    stamp = "Wed, 01 Jul 2026 10:00:00 GMT"
    options = {"etag": 'W/"weak"', "last_modified": stamp}
    server.serve("f", content, Fault(drop_after=100_000), **options)
    download(asked(remote(server)))
    assert [(r.start, r.if_range) for r in server.gets] == [(0, None), (100_000, stamp)]


def test_another_range_than_asked_for_is_refused(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(drop_after=100_000), Fault(range_from=90_000))
    request = asked(remote(server, content))
    with pytest.raises(
        SeamountError, match="answers bytes from 90000 on where 100000 was asked for"
    ):
        download(request)
    assert there(request.out) == []


def test_a_length_that_is_too_long(server: MirrorServer, content: bytes, asked: Asked) -> None:
    more = len(content) + 500
    lies = Fault(claims=more), Fault(status=206, body=b"", claims=500, total=more)
    server.serve("f", content, *lies, always=True)
    request = asked(remote(server))
    with pytest.raises(SeamountError, match=r"4 times one after another"):
        download(request)
    assert there(request.out) == []
    with pytest.raises(SeamountError, match=f"{more} bytes where the list says {len(content)}"):
        download(asked(remote(server, content, size_bytes=len(content))))
    server.files["/f"].faults = []
    assert download(request).fetched_bytes == 0  # told that there is no byte more, and checked
    assert bytes_of(request.out) == content


def test_a_length_that_is_too_short(server: MirrorServer, content: bytes, asked: Asked) -> None:
    """With a size it is refused at once, with a digest or by the container at the end."""
    short = Fault(claims=len(content) - 500, body=content[:-500])
    server.serve("f", content, short, always=True)
    refused = {
        "where the list says": remote(server, size_bytes=len(content)),
        "SHA-256 is": remote(server, content),
        "cut short": remote(server),
    }
    for says, file in refused.items():
        request = asked(file)
        with pytest.raises(SeamountError, match=says):
            download(request)
        assert there(request.out) == []
    unchecked = asked(remote(server), check_zstd=False)
    assert download(unchecked).files[0].checked == "nothing"  # what asking for no check means


def test_more_bytes_than_the_file_has(server: MirrorServer, content: bytes, asked: Asked) -> None:
    server.serve("f", content + b"more", chunked=True)
    request = asked(remote(server, size_bytes=len(content)))
    with pytest.raises(SeamountError, match=rf"sends more than the {len(content)} bytes"):
        download(request)
    assert there(request.out) == []


@pytest.mark.parametrize("digest", [True, False])
def test_no_length_at_all(digest: bool, server: MirrorServer, content: bytes, asked: Asked) -> None:
    server.serve("f", content, Fault(drop_after=70_000), chunked=True)
    request = asked(remote(server, content if digest else None))
    assert download(request).retries == 1
    assert bytes_of(request.out) == content


def test_a_throttled_server_comes_to_an_end(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(pause_s=0.01, piece_bytes=10_000))
    request = asked(remote(server, content))
    assert download(request).retries == 0
    assert bytes_of(request.out) == content


def test_a_silent_server_is_asked_anew(server: MirrorServer, content: bytes, asked: Asked) -> None:
    retry = RetryPolicy(retries=3, base_s=0.005, timeout_s=0.15)
    server.serve("f", content, Fault(pause_s=0.5, piece_bytes=200_000))
    request = asked(remote(server, content), retry=retry)
    assert download(request).retries == 1
    assert bytes_of(request.out) == content


def test_a_trickling_server_is_left_for_another(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    retry = RetryPolicy(retries=3, base_s=0.005, timeout_s=0.2, least_bytes_s=1000)
    server.serve("f", content, Fault(pause_s=0.05, piece_bytes=10), always=True)
    other.serve("f", content)
    file = RemoteFile(NAME, (server.url("f"), other.url("f")), sha256=sha256(content))
    request = asked(file, retry=retry)
    found = download(request)
    assert bytes_of(request.out) == content
    assert found.files[0].source == other.url("f") and len(server.gets) == 1


def test_a_busy_server_is_given_the_time_it_asks_for(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(status=503, headers={"Retry-After": "1"}, body=b"busy"))
    assert download(asked(remote(server, content))).retries == 1
    first, second = server.gets
    assert 1.0 <= second.at_s - first.at_s < 3.0


def test_what_retry_after_may_say() -> None:
    at = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    said = {"7": 7.0, "": 0.0, "soon": 0.0, "-3": 0.0, "1" * 5000: 111_111_111.0}
    for text, wait_s in said.items():
        assert retry_after_s(text) == wait_s
    assert 85 < (retry_after_s(at) or 0) <= 90
    assert retry_after_s("Wed, 01 Jan 2020 00:00:00 GMT") == 0.0


def test_a_server_that_wants_to_rest_for_hours_is_given_up(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(status=429, headers={"Retry-After": "7200"}, body=b""))
    with pytest.raises(SeamountError, match="429 Too Many Requests and asks to wait 7200 s"):
        download(asked(remote(server, content)))


def test_while_one_server_rests_the_other_is_asked(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(status=503, headers={"Retry-After": "4"}, body=b""))
    other.serve("f", content)
    file = RemoteFile(NAME, (server.url("f"), other.url("f")), sha256=sha256(content))
    start = time.monotonic()
    assert download(asked(file)).files[0].source == other.url("f")
    assert time.monotonic() - start < 3.0


def test_server_errors_back_off_and_end(server: MirrorServer, content: bytes, asked: Asked) -> None:
    retry = RetryPolicy(retries=3, base_s=0.08, cap_s=10)
    server.serve("f", content, Fault(status=500, body=b""), always=True)
    with pytest.raises(SeamountError, match="answers 500"):
        download(asked(remote(server, content), retry=retry))
    times = [r.at_s for r in server.gets]
    waits = [b - a for a, b in pairwise(times)]
    assert len(waits) == 3
    assert all(wait >= 0.04 * 2**n for n, wait in enumerate(waits))


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_what_will_not_change_is_asked_once(
    status: int, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(status=status, body=PAGE), always=True)
    with pytest.raises(SeamountError, match=f"answers {status}"):
        download(asked(remote(server, content)))
    assert len(server.gets) == 1
