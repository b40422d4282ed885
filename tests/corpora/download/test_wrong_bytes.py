"""Servers that give something else than the file: pages, other bytes, halves, redirects."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from misbehaving_server import Fault, MirrorServer, sha256
from one_file import NAME, PAGE, bytes_of, remote, there
from quick_requests import Asked

from seamount.core.errors import SeamountError
from seamount.corpora.text.download.download import download
from seamount.corpora.text.download.request import RemoteFile


def test_a_page_with_status_200_is_not_the_file(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    page = Fault(body=PAGE, headers={"Content-Type": "text/html; charset=utf-8"})
    server.serve("f", content, page, always=True)
    names = {
        "x.jsonl.zst": "begins with b'<!DO'",
        "x.jsonl.gz": "begins with b'<!DO'",
        "x.jsonl": "web page",
    }
    for name, says in names.items():
        request = asked(RemoteFile(name, (server.url("f"),)))
        with pytest.raises(SeamountError, match=says):
            download(request)
        assert there(request.out) == []
    request = asked(RemoteFile("x.html", (server.url("f"),)))
    assert download(request).size_bytes == len(PAGE)


def test_a_compression_nobody_asked_for_is_not_the_file(server: MirrorServer, asked: Asked) -> None:
    lines = b'{"text": "one"}\n' * 50
    on_the_way = Fault(body=gzip.compress(lines), headers={"Content-Encoding": "gzip"})
    server.serve("f", lines, on_the_way, always=True)
    with pytest.raises(SeamountError, match=r"compressed for the way \(gzip\)"):
        download(asked(RemoteFile("x.jsonl", (server.url("f"),))))
    # A server may call a compressed file so: its bytes are the file.
    request = asked(RemoteFile("x.jsonl.gz", (server.url("f"),)))
    download(request)
    assert gzip.decompress((Path(request.out) / "x.jsonl.gz").read_bytes()) == lines


def test_an_empty_answer_is_not_the_file(
    server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", b"", always=True)
    request = asked(remote(server))
    with pytest.raises(SeamountError, match="it is empty"):
        download(request)
    assert there(request.out) == []
    assert download(asked(remote(server, b"", size_bytes=0))).size_bytes == 0


def test_wrong_bytes_of_the_right_size_lead_to_the_next_mirror(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    wrong = content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]
    server.serve("f", wrong)
    other.serve("f", content)
    file = RemoteFile(NAME, (server.url("f"), other.url("f")), len(content), sha256(content))
    request = asked(file)
    assert download(request).files[0].source == other.url("f")
    assert bytes_of(request.out) == content
    assert len(server.gets) == 1  # alone at fault: not asked again


def test_halves_of_two_mirrors_make_one_file(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    gone = Fault(status=404, body=b"")
    server.serve("f", content, Fault(drop_after=120_000), gone, always=True)
    other.serve("f", content, etag='"another"')
    file = RemoteFile(NAME, (server.url("f"), other.url("f")), sha256=sha256(content))
    request = asked(file)
    download(request)
    assert bytes_of(request.out) == content
    assert [(r.start, r.if_range) for r in other.gets] == [(120_000, None)]


def test_halves_that_do_not_fit_are_fetched_anew(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    """Which half is wrong cannot be known, so that the second mirror is not given up for it."""
    wrong = content[:1000] + bytes([content[1000] ^ 1]) + content[1001:]
    gone = Fault(status=404, body=b"")
    server.serve("f", wrong, Fault(drop_after=120_000), gone, always=True)
    other.serve("f", content)
    file = RemoteFile(NAME, (server.url("f"), other.url("f")), sha256=sha256(content))
    request = asked(file)
    download(request)
    assert bytes_of(request.out) == content
    assert [r.start for r in other.gets] == [120_000, 0]


def test_halves_of_two_mirrors_are_not_joined_without_a_digest(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    gone = Fault(status=404, body=b"")
    server.serve("f", content, Fault(drop_after=120_000), gone, always=True)
    other.serve("f", content)
    request = asked(RemoteFile(NAME, (server.url("f"), other.url("f"))))
    download(request)
    assert [r.start for r in other.gets] == [0]


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("file:///etc/passwd", "not http or https"),
        ("ftp://127.0.0.1/f", "not http or https"),
        ("/f", "redirects more than 5 times"),
    ],
)
def test_redirects_that_are_not_followed(
    to: str, says: str, server: MirrorServer, content: bytes, asked: Asked
) -> None:
    server.serve("f", content, Fault(status=302, headers={"Location": to}, body=b""), always=True)
    request = asked(remote(server, content))
    with pytest.raises(SeamountError, match=says):
        download(request)
    assert there(request.out) == []


def test_a_redirect_keeps_the_range(
    server: MirrorServer, other: MirrorServer, content: bytes, asked: Asked
) -> None:
    leads = Fault(status=307, headers={"Location": other.url("real")}, body=b"")
    server.serve("f", content, leads, always=True)
    other.serve("real", content, Fault(drop_after=100_000))
    request = asked(remote(server, content))
    download(request)
    assert bytes_of(request.out) == content
    assert [r.start for r in other.gets] == [0, 100_000]


def test_nobody_answers(server: MirrorServer, content: bytes, asked: Asked) -> None:
    import socket

    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/f?signature=secret"
        with pytest.raises(SeamountError, match="Connection refused") as told:
            download(asked(RemoteFile(NAME, (url,))))
    assert "secret" not in str(told.value)
