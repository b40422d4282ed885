"""Entities, depth, sizes and encodings that would bring a careless XML parser down."""

from __future__ import annotations

import io
import resource
from pathlib import Path

import pytest
from reading import documents, read, read_broken, reasons, write

from seamount.core.errors import CorruptData
from seamount.corpora.text.readers import _xml

LAUGHS = (
    '<!DOCTYPE a [<!ENTITY l0 "lol">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    + "]>"
)


def article(doctype: str, inner: str) -> str:
    return f"<?xml version='1.0'?>{doctype}<article><body><p>{inner}</p></body></article>"


def test_entities_are_never_expanded_nor_fetched(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    outside = f'<!DOCTYPE a [<!ENTITY s SYSTEM "file://{tmp_path}/secret">]>'
    write(
        tmp_path / "in",
        {
            "bomb.xml": article(LAUGHS, "x &l11; y"),
            "attribute.xml": article(LAUGHS, '<a b="&l11;"/>z'),
            "file.xml": article(outside, "x &s; y"),
            "net.xml": article('<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd">', "x &alpha; y"),
        },
    )
    records = read("pmc_xml", tmp_path / "in")
    texts = {d.id.rpartition("/")[2]: d.text for d in documents(records)}
    assert texts == {"file.xml": "x &s; y\n", "net.xml": "x α y\n"}
    assert all("not well-formed XML: Maximum entity" in reason for reason in reasons(records))


@pytest.mark.parametrize("reader", ["stackexchange_posts", "wikitext", "pubmed_abstracts"])
def test_streamed_dumps_refuse_a_bomb(reader: str, tmp_path: Path) -> None:
    row = '<row Id="1" PostTypeId="1" Title="t" Body="&l11;"/>'
    page = (
        "<page><title>&l11;</title><id>1</id><revision><text a='&l11;'>x</text></revision></page>"
    )
    citation = "<PubmedArticle a='&l11;'/>"
    write(tmp_path, {"Posts.xml": f"{LAUGHS}<a>{row}{page}{citation}</a>"})
    records, error = read_broken(reader, tmp_path)
    assert not documents(records) and "damaged" in error


def test_depth_and_size_are_bounded(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "deep.xml": article("", "<b>" * 100_000 + "</b>" * 100_000),
            "wide.xml": article("", f'<b c="{"x" * 11_000_000}"/>'),
        },
    )
    records = read("pmc_xml", tmp_path)
    assert not documents(records) and all("not well-formed" in r for r in reasons(records))


def test_a_record_without_end_is_refused_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_xml, "MOST_RECORD_BYTES", 1 << 20)

    class Endless(io.RawIOBase):
        begun = False

        def read(self, size: int = -1) -> bytes:
            begun, self.begun = self.begun, True
            return b"<c/>" * 1000 if begun else b"<a><row>"

    with pytest.raises(CorruptData, match="more than 1048576 bytes"):
        list(_xml.records(Endless(), "x", "row"))  # type: ignore[arg-type]


def test_records_are_streamed_in_bounded_memory() -> None:
    class Rows(io.RawIOBase):
        left = 60_000

        def read(self, size: int = -1) -> bytes:
            if self.left == 60_000:
                self.left -= 1
                return b"<posts>"
            self.left -= 1
            return b"" if self.left < 0 else b'<row Id="1" Body="' + b"x" * 2000 + b'"/>'

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert sum(1 for _ in _xml_rows(Rows())) == 59_999
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 40, f"{grown} MB more for 120 MB of rows"


def _xml_rows(stream: io.RawIOBase):  # type: ignore[no-untyped-def]
    try:
        yield from _xml.records(stream, "x", "row")  # type: ignore[arg-type]
    except CorruptData as error:
        assert "cut short" in str(error)  # there is no </posts>


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            article("", "caf\xe9").replace("?>", " encoding='iso-8859-1'?>").encode("latin-1"),
            "café\n",
        ),
        (article("", "caf\xe9").encode("utf-16"), "café\n"),
        (article("", "caf\xe9").encode("latin-1"), None),
        (article("", "x").replace("?>", " encoding='utf-64'?>").encode(), None),
        (b"", None),
    ],
)
def test_encodings_told_truly_and_falsely(data: bytes, text: str | None, tmp_path: Path) -> None:
    write(tmp_path, {"a.xml": data})
    records = read("pmc_xml", tmp_path)
    assert [d.text for d in documents(records)] == ([text] if text else [])
    assert text or reasons(records)[0].startswith("not well-formed XML")
