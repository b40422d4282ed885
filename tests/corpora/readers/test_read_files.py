"""Containers: names, damage, bombs, encodings, and HTML of every quality."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import time
import zipfile
from pathlib import Path

import pytest
import zstandard
from reading import documents, read, read_broken, reasons, tar, write, zipped

from seamount.core.errors import CorruptData
from seamount.core.records import Quarantined
from seamount.corpora.text.readers import _archives, _encodings, _files, _html, _streams

TEXT = b"".join(f"line {n} of the sea\n".encode() for n in range(2000))
PACKED = {
    "a.txt.gz": gzip.compress(TEXT),
    "a.txt.bz2": bz2.compress(TEXT),
    "a.txt.xz": lzma.compress(TEXT),
    "a.txt.zst": zstandard.compress(TEXT),
}


@pytest.mark.parametrize("name", PACKED)
def test_compressed_files_and_their_damage(name: str, tmp_path: Path) -> None:
    data = PACKED[name]
    write(tmp_path, {f"a/{name}": data, f"b/{name}": data[:-9], f"c/{name}": data[:99]})
    whole, cut, cut_early = (read("plain_text", tmp_path / folder) for folder in "abc")
    assert [d.text.encode() for d in documents(whole)] == [TEXT]
    for records in (cut, cut_early):
        (record,) = records
        assert isinstance(record, Quarantined) and name in record.reason


def test_two_gzip_members_are_one_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt.gz": gzip.compress(b"one ") + gzip.compress(b"two")})
    assert [d.text for d in documents(read("plain_text", tmp_path))] == ["one two"]


ENTRIES = {f"f{n}.txt": f"text {n}" * 200 for n in range(5)}


@pytest.mark.parametrize("name", ["t.tar", "t.tar.gz", "t.zip"])
def test_archives(name: str, tmp_path: Path) -> None:
    made = {"t.tar": tar, "t.tar.gz": lambda f: tar(f, "w:gz"), "t.zip": zipped}[name]
    write(tmp_path, {name: made({**ENTRIES, "../../up.txt": "only a name", "x.jpg": b"\xff"})})
    records = read("plain_text", tmp_path)
    assert {d.id for d in documents(records)} == {
        f"{tmp_path.name}/{name}/{member}" for member in [*ENTRIES, "../../up.txt"]
    }
    assert reasons(records) == ["not a file of this kind"]
    assert [p.name for p in tmp_path.rglob("*")] == [name]


def test_every_cut_of_a_tar_is_noticed(tmp_path: Path) -> None:
    data = tar(ENTRIES)
    end = len(data.rstrip(b"\0"))
    for size in range(1, end, 97):
        write(tmp_path, {"t.tar": data[:size]})
        records, error = read_broken("plain_text", tmp_path)
        assert error or any(isinstance(r, Quarantined) for r in records), size


def test_a_damaged_header_does_not_end_a_tar_silently(tmp_path: Path) -> None:
    data = bytearray(tar(ENTRIES))
    second = data.index(b"f1.txt")
    data[second + 150] ^= 1  # its checksum
    write(tmp_path, {"t.tar": bytes(data)})
    records, error = read_broken("plain_text", tmp_path)
    assert len(documents(records)) == 1 and "t.tar" in error


def test_bombs_are_bounded(tmp_path: Path) -> None:
    zeros = gzip.compress(bytes(1 << 20)) * 300  # 300 MB
    long_name = tarfile.TarInfo("x")
    long_name.type, long_name.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    header = long_name.tobuf(tarfile.GNU_FORMAT) + bytes(4096)
    write(tmp_path, {"a.txt.gz": zeros, "b.tar": header})
    records, error = read_broken("plain_text", tmp_path)
    assert reasons(records) == [f"larger than {256 << 20} bytes"]
    assert "has a header of 1073741824 bytes" in error


def test_zip_members_one_by_one(tmp_path: Path) -> None:
    data = bytearray(zipped(ENTRIES))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        at = archive.getinfo("f2.txt").header_offset + 40
    data[at] ^= 0xFF
    write(tmp_path, {"t.zip": bytes(data)})
    records = read("plain_text", tmp_path)
    assert len(documents(records)) == 4 and "not readable in its archive" in reasons(records)[0]


def test_which_files_there_are(tmp_path: Path) -> None:
    write(tmp_path / "top", {"b.txt": "b", "a/c.TXT": "c", ".hidden.txt": "h", ".d/x.txt": "x"})
    (tmp_path / "outside.txt").write_text("o")
    (tmp_path / "top/link.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "top/loop").symlink_to(tmp_path / "top")
    (tmp_path / "top/dead.txt").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "top/pipe.txt")
    names = [
        item.name for item in _files.items(str(tmp_path / "top"), None, _files.with_suffix(".txt"))
    ]
    assert names == ["top/a/c.TXT", "top/b.txt", "top/link.txt"]


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("text")
    (document,) = documents(read("plain_text", tmp_path))
    assert document.id.endswith("caf\\xe9.txt") and document.id.encode()


def test_memory_is_bounded_by_the_line() -> None:
    with pytest.raises(CorruptData, match="longer than 10 bytes"):
        list(_streams.lines(io.BytesIO(b"short\n" + b"x" * 11), 10))
    assert list(_streams.lines(io.BytesIO(b"0123456789\n"), 11)) == [b"0123456789\n"]


WESTERN = "Die Möwe über dem Süßwasser: «schön», sagte sie – für uns alle. " * 5
RUSSIAN = "Море шумит у скал, и чайки кричат над водой целый день. " * 5


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"\xef\xbb\xbfa", "a", "utf-8"),
        ("ä".encode("utf-16"), "ä", "utf-16"),
        ("ä".encode("utf-32"), "ä", "utf-32"),
        (b"caf\xe9", "café", "cp1252"),
        (b"\x93quoted\x94", "“quoted”", "cp1252"),
        (WESTERN.encode("cp1252"), WESTERN, None),
        (RUSSIAN.encode("cp1251"), RUSSIAN, None),
        (RUSSIAN.encode("koi8-r"), RUSSIAN, None),
        (b"", "", "utf-8"),
    ],
)
def test_encodings(data: bytes, text: str, encoding: str | None) -> None:
    found, name = _encodings.decode(data)
    assert found == text and encoding in (None, name)


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        (b"caf\xe9", "iso-8859-1", "café"),
        ("café".encode(), "iso-8859-1", "café"),  # a common lie
        ("海".encode("iso2022-jp"), "iso-2022-jp", "海"),
        (b"caf\xe9", "no-such-charset", "café"),
        (b"abc", "rot13", "abc"),
        (b"a\\x41", "unicode_escape", "a\\x41"),
        (b"+2AA-", "utf-7", None),
        (b"abc", "utf\0-8", "abc"),
    ],
)
def test_declared_encodings(data: bytes, declared: str, text: str | None) -> None:
    found, _ = _encodings.decode(data, declared)
    assert found.encode() and text in (None, found)


def test_members_of_an_archive_keep_to_their_names() -> None:
    assert _archives.parts("../../a/./b/../c.tex") == ("a", "c.tex")
    assert _archives.parts("/etc/passwd") == ("etc", "passwd")
    assert _archives.parts("a\\b.tex") == ("a", "b.tex")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<p>b", "a\n\nb"),
        ("<p>a  \n b <i>c</i></p>", "a b c"),
        ("<pre><code>a\n  b\n</code></pre><p>c", "a\n  b\n\nc"),
        ("<ul><li>a</li><li><p>b</p></li></ul>", "- a\n- b"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("x<script>bad()</script>y<style>p{}</style>z", "xyz"),
        ("<head><title/></head><body>b<a id='x'/>c", "bc"),
        ("<html><head><title>t</title><body>b", "b"),
        ("&lt;b&gt; &amp; &#x41; &#xD800; &nosuch; \udcff", "<b> & A \ufffd &nosuch; ?"),
        ("<table><tr><td>1<td>2<tr><td>3</table>", "1\t2\n3"),
        ("a<!-- c -->b<![CDATA[x]]>", "ab"),
        ("1 < 2 and <3", "1 < 2 and <3"),
        ("<h1>T</h1>text", "T\n\ntext"),
        ("", ""),
    ],
)
def test_html(html: str, text: str) -> None:
    assert _html.to_text(html) == text


@pytest.mark.parametrize(
    "piece", ["<p><b>", "<", "<a ", "&", "<!--", "<![", "</", "<li>", "<pre>\n"]
)
def test_hostile_html_takes_linear_time(piece: str) -> None:
    times = []
    for count in (10_000, 40_000):
        started = time.process_time()
        _html.to_text(piece * count)
        times.append(time.process_time() - started)
    assert times[1] < 12 * times[0] + 0.5, times
