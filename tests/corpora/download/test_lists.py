"""Mirror lists, digests and layouts: what they may say, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seamount.core.errors import UserError
from seamount.corpora.text.download.addresses import redirect_refusal, shown
from seamount.corpora.text.download.digests import read_sums
from seamount.corpora.text.download.download import download
from seamount.corpora.text.download.listing import read_files
from seamount.corpora.text.download.request import DownloadRequest, RemoteFile

A, B = "a" * 64, "b" * 64


def write(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_the_released_layout_of_the_pile() -> None:
    files = read_files([], ["https://one.example/pile/", "s3://bucket/pile"])
    assert len(files) == 32
    wanted = [f"train/{n:02d}.jsonl.zst" for n in range(30)]
    assert [f.path for f in files] == [*wanted, "val.jsonl.zst", "test.jsonl.zst"]
    assert files[7].urls == (
        "https://one.example/pile/train/07.jsonl.zst",
        "s3://bucket/pile/train/07.jsonl.zst",
    )
    assert read_files(["pile"], ["https://one.example/pile"])[0].urls == files[0].urls[:1]


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_a_list(suffix: str, tmp_path: Path) -> None:
    content = {
        "base_urls": ["https://base.example/x?key=1"],
        "files": [
            {
                "path": "train/a b#.zst",
                "size": 7,
                "sha256": A.upper(),
                "urls": ["http://o.example/1"],
            },
            {"path": "val.zst"},
        ],
    }
    first, second = read_files([write(tmp_path / f"list{suffix}", content)])
    own, base = first.urls
    assert own == "http://o.example/1"
    assert base == "https://base.example/x/train/a%20b%23.zst?key=1"
    assert (first.path, first.size_bytes, first.sha256) == ("train/a b#.zst", 7, A)
    assert (second.size_bytes, second.sha256) == (None, None)


def test_one_url() -> None:
    (file,) = read_files(["https://x.example/deep/my%20file.jsonl.zst?sig=1#part"])
    assert file.path == "my file.jsonl.zst"
    assert file.urls == ("https://x.example/deep/my%20file.jsonl.zst?sig=1#part",)


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "../x", "a/../../x", "a//b", "a/", ".downloads/x", "a/.x", "a\\b"),
        *("a\nb", ".", "x" * 201, "\u202ezst.x"),
    ],
)
def test_paths_that_lead_elsewhere(path: str, tmp_path: Path) -> None:
    content = {"files": [{"path": path, "urls": ["http://x.example/1"]}]}
    with pytest.raises(UserError, match=r"the path .* is not taken"):
        read_files([write(tmp_path / "list.json", content)])


@pytest.mark.parametrize(
    "url",
    [
        *(
            "file:///etc/passwd",
            "/etc/passwd",
            "ftp://x.example/1",
            "memory://x",
            "http://",
            "s3://",
        ),
        *("simplecache::http://x.example/1", "http://x:0x/1", "gopher://x.example"),
    ],
)
def test_addresses_that_are_not_followed(url: str, tmp_path: Path) -> None:
    content = {"files": [{"path": "x", "urls": [url]}]}
    with pytest.raises(UserError, match=r"a source of x is not taken"):
        read_files([write(tmp_path / "list.json", content)])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"files": []}, "wrong at files"),
        ({"files": [{"path": "x"}]}, r"give a base URL \(--base-url\)"),
        ({"files": [{"path": "x", "sha": A}]}, "files.0.sha"),
        ({"files": [{"path": "x", "sha256": "12"}]}, "files.0.sha256"),
        ({"files": [{"path": "x", "size": -1}]}, "files.0.size"),
        ({"files": [{"path": "x", "size": "7"}]}, "files.0.size"),
        ({"files": "x"}, "wrong at files"),
        ([], "wrong at the top"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (
            {"files": [{"path": "x", "urls": ["http://a.example"]}] * 2},
            "two files are called 'x'",
        ),
        (
            {"files": [{"path": p, "urls": ["http://a.example"]} for p in ("x", "x/y")]},
            "'x' is a file and the folder of 'x/y'",
        ),
    ],
)
def test_lists_that_are_wrong(content: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=says):
        read_files([write(tmp_path / "list.json", content)])


def test_names_that_are_nothing(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="matches 'pil'"):
        read_files(["pil"])
    with pytest.raises(UserError, match=r"give a base URL \(--base-url\)"):
        read_files(["pile"])
    with pytest.raises(UserError, match="not found"):
        read_files([str(tmp_path / "absent.yaml")])
    assert read_files([]) == ()


def test_digests_of_gnu_and_bsd(tmp_path: Path) -> None:
    text = f"# made by hand\n{A}  ./train/00.zst\n\nSHA256 (val x.zst) = {B.upper()}\n{B} *bin\n"
    sums = read_sums(write(tmp_path / "SHA256SUMS", text))
    assert sums == {"train/00.zst": A, "val x.zst": B, "bin": B}


def test_digests_find_their_files(tmp_path: Path) -> None:
    sums = write(tmp_path / "SHA256SUMS", f"{A}  components/pile/x.zst\n{B}  y.zst\n")
    content = {"base_urls": ["http://a.example"], "files": [{"path": "x.zst"}, {"path": "y.zst"}]}
    files = read_files([write(tmp_path / "list.json", content)], None, sums)
    assert [f.sha256 for f in files] == [A, B]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{A}  other.zst\n", "has no digest of x.zst"),
        (f"{A}  a/x.zst\n{B}  b/x.zst\n", "has no digest of x.zst"),
        (f"{B}  x.zst\n", "has the digest a+ in its list and b+ in"),
        (f"{A}  x.zst\n{B}  x.zst\n", "two digests of x.zst"),
        ("d41d8cd98f00b204e9800998ecf8427e  x.zst\n", "line 1 of .* is not `SHA-256  path`"),
        ("<html>\n", "line 1 of"),
    ],
)
def test_digests_that_are_wrong(text: str, says: str, tmp_path: Path) -> None:
    given = {"files": [{"path": "x.zst", "sha256": A, "urls": ["http://a.example"]}]}
    source = write(tmp_path / "list.json", given)
    with pytest.raises(UserError, match=says):
        read_files([source], None, write(tmp_path / "SHA256SUMS", text))


def test_secrets_are_not_shown() -> None:
    assert shown("https://me:secret@x.example:8/a/b?sig=secret#c") == "https://x.example:8/a/b"


def test_https_is_not_left() -> None:
    assert redirect_refusal("https://a.example/", "http://a.example/") is not None
    assert redirect_refusal("http://a.example/", "https://a.example/") is None
    assert redirect_refusal("http://a.example/", "http://b.example/") is None


def test_a_request_made_in_python_is_held_to_the_same(tmp_path: Path) -> None:
    wrong = {
        "is not taken": RemoteFile("../x", ("http://a.example",)),
        "no source": RemoteFile("x", ()),
        "is not an address": RemoteFile("x", ("file:///etc/passwd",)),
    }
    for says, file in wrong.items():
        with pytest.raises(UserError, match=says):
            download(DownloadRequest((file,), str(tmp_path)))
    with pytest.raises(UserError, match="must be above 0"):
        download(DownloadRequest((RemoteFile("x", ("http://a.example",)),), str(tmp_path), jobs=0))
