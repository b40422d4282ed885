"""Gutenberg, EPUB, subtitles, EuroParl, court opinions, patents: exact texts of small samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from miniatures import (
    BOOK,
    CONTAINER,
    EPUB,
    MEDLINE,
    OPINIONS,
    PACKAGE,
    PATENT,
    SITTING,
    SRT,
    VTT,
)
from reading import documents, read, reasons, write, zipped
from samples import patents

from seamount.core.records import Quarantined
from seamount.corpora.text.readers import _streams


def test_a_book_without_header_and_licence(tmp_path: Path) -> None:
    write(tmp_path, {"12-8.txt": BOOK.replace("\n", "\r\n").encode("latin-1")})
    (book,) = documents(read("gutenberg_books", tmp_path))
    assert book.text == "CHAPTER I\n\nThe café by the sea.\n\nTHE END\n"
    assert book.meta == {
        "encoding": "iso8859-1",
        "title": "Tides of the North",
        "author": "Ann Author",
        "language": "English",
        "year": 1893,
        "release_year": 2004,
    }


def test_the_small_print_of_the_nineties(tmp_path: Path) -> None:
    old = (
        "**The Project Gutenberg Etext of Tides**\n\nTitle: Tides\n\n"
        + "legal words\n" * 900
        + "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\n\nTIDES\n\nText.\n\n"
        + "End of The Project Gutenberg Etext of Tides\n"
    )
    write(tmp_path, {"a.txt": old})
    (book,) = documents(read("gutenberg_books", tmp_path))
    assert book.text == "TIDES\n\nText.\n" and book.meta == {"title": "Tides"}


def test_a_book_is_never_cut(tmp_path: Path) -> None:
    body = "A long line about Project Gutenberg and the sea.\n" * 200_000
    write(tmp_path, {"a.txt": f"*** START OF THE PROJECT GUTENBERG EBOOK X ***\n\n{body}"})
    (book,) = documents(read("gutenberg_books", tmp_path))
    assert book.text == body


def test_an_epub(tmp_path: Path) -> None:
    write(tmp_path, {"t.epub": zipped(EPUB)})
    (book,) = documents(read("books_epub", tmp_path))
    assert book.text == "I\n\nChapter one\n\n\nChapter two\n"
    assert book.meta == {
        "title": "Tides",
        "author": "Ann Author, Bob Other",
        "language": "en",
        "year": 1893,
    }


def _without(name: str) -> dict[str, bytes | str]:
    return {k: v for k, v in EPUB.items() if k != name}


ENCRYPTED = (
    '<encryption xmlns="urn:x"><EncryptedData><EncryptionMethod Algorithm="{}"/></EncryptedData>'
    "</encryption>"
)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (_without("META-INF/container.xml"), "has no 'META-INF/container.xml'"),
        (_without("one.xhtml"), "has no 'one.xhtml'"),
        ({**EPUB, "OEBPS/book.opf": "<package/>"}, "no manifest or no spine"),
        ({**EPUB, "META-INF/container.xml": "<a/>"}, "names no package file"),
        ({**EPUB, "META-INF/encryption.xml": ENCRYPTED.format("aes")}, "encrypted"),
        ({**EPUB, "META-INF/container.xml": CONTAINER.replace("OEBPS", "../../etc")}, "has no"),
    ],
)
def test_broken_epubs(files: dict[str, bytes | str], reason: str, tmp_path: Path) -> None:
    write(tmp_path, {"t.epub": zipped(files)})
    (record,) = read("books_epub", tmp_path)
    assert isinstance(record, Quarantined) and reason in record.reason


def test_fonts_may_be_scrambled_and_bombs_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_streams, "MOST_BYTES", 5 << 20)
    fonts = {
        **EPUB,
        "META-INF/encryption.xml": ENCRYPTED.format("http://www.idpf.org/2008/embedding"),
    }
    many = "".join(f'<itemref idref="a{n}"/>' for n in range(30))
    pages = "".join(
        f'<item id="a{n}" href="../one.xhtml" media-type="text/html"/>' for n in range(30)
    )
    package = (
        PACKAGE.split("<manifest>")[0]
        + f"<manifest>{pages}</manifest><spine>{many}</spine></package>"
    )
    bomb = {**EPUB, "OEBPS/book.opf": package, "one.xhtml": b"<p>" + bytes(1 << 20)}
    write(tmp_path, {"a.epub": zipped(fonts), "b.epub": zipped(bomb)})
    records = read("books_epub", tmp_path)
    assert len(documents(records)) == 1
    assert reasons(records) == ["larger than the bound when unpacked"]


def test_subtitles(tmp_path: Path) -> None:
    write(tmp_path, {"a.srt": SRT, "b.vtt": VTT})
    srt, vtt = documents(read("subtitles", tmp_path))
    assert srt.text == "The sea.\nIs 2 < 3?\nYes.\n[waves]\n" and srt.meta == {"cues": 3}
    assert vtt.text == "Hello & welcome\nto the sea\n" and vtt.meta == {"cues": 2}


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        ("MR. O'NEILL: Yes", "Yes"),
        (">> Yes", "Yes"),
        (">> ANN: Yes", "Yes"),
        ("- Yes", "Yes"),
        ("Note: this stays", "Note: this stays"),
        ("NASA: it stays? no, a label", "it stays? no, a label"),
        ("At 10:30 we go", "At 10:30 we go"),
        ("<font color='#fff'>x</font> {\\b1}y", "x y"),
        ("a < b > c", "a < b > c"),
        ("-5 degrees", "5 degrees"),
    ],
)
def test_speakers_and_tags(line: str, spoken: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{line}\n"})
    assert [d.text for d in documents(read("subtitles", tmp_path))] == [spoken + "\n"]


def test_a_sitting(tmp_path: Path) -> None:
    write(tmp_path, {"txt/fr/ep-99-12-31.txt": SITTING})
    (document,) = documents(read("europarl", tmp_path))
    assert document.text == (
        "Resumption of the session\n\nPresident\n\nI declare it resumed.\n\n(Applause)\n\n"
        "O'Neill, Anne\n\nThank you.\n"
    )
    assert document.meta == {"language": "fr", "date": "1999-12-31", "turns": 2}


def test_opinions(tmp_path: Path) -> None:
    write(tmp_path, {"o.json": json.dumps(OPINIONS), "one.json": json.dumps(OPINIONS[0])})
    records = read("courtlistener_opinions", tmp_path)
    found = [(d.id.partition("/")[2], d.text) for d in documents(records)]
    assert found == [
        ("o.json:1", "It is so ordered."),
        ("o.json:2", "The court holds."),
        ("one.json:1", "It is so ordered."),
    ]
    assert documents(records)[0].meta == {"court": "ca1"}
    assert reasons(records) == ["no text field with text"]


def test_backgrounds(tmp_path: Path) -> None:
    write(tmp_path, {"ipg150106.xml": patents()})
    records = read("patent_xml", tmp_path)
    first, last = documents(records)
    assert first.text == (
        "BACKGROUND OF THE INVENTION\n\nNets have long been woven by hand from cord of many "
        "kinds of plant2, as fishers know.\n\nDescription of the Related Art\n\n"
        "FIG. 1 of an older patent shows one.\n"
    )
    assert first.meta == {
        "number": "08000001",
        "kind": "B2",
        "date": "20150106",
        "title": "Net",
        "year": 2015,
    }
    assert last.id.endswith("ipg150106.xml:08000003")
    assert reasons(records) == ["no background section"]


def test_one_damaged_patent_costs_one(tmp_path: Path) -> None:
    three = [PATENT.format(number=n, heading="BACKGROUND") for n in (1, 2, 3)]
    three[1] = three[1].replace("</description>", "")
    write(tmp_path, {"p.xml": "".join(three) + MEDLINE})
    records = read("patent_xml", tmp_path)
    assert [d.meta["number"] for d in documents(records)] == ["01", "03"]
    damaged, other = (r for r in records if r not in documents(records))
    assert isinstance(damaged, Quarantined) and damaged.line == 2
    assert other.reason == "no patent"


OLDER = """<?xml version="1.0"?><!DOCTYPE PATDOC SYSTEM "ST32-US-Grant-024.dtd">
<PATDOC><SDOBI><B100><B110><DNUM><PDAT>06336130</PDAT></DNUM></B110><B130><PDAT>B1</PDAT></B130>
<B140><DATE><PDAT>20020101</PDAT></DATE></B140></B100><B500><B540><STEXT><PDAT>Arrangement</PDAT>
</STEXT></B540></B500></SDOBI><SDODE><BRFSUM><BTEXT><H LVL="1"><STEXT><PDAT>FIELD OF THE INVENTION
</PDAT></STEXT></H><PARA><PTEXT><PDAT>It relates to &ldquo;nets&rdquo;.</PDAT></PTEXT></PARA>
<H><STEXT><PDAT>BACKGROUND</PDAT></STEXT></H><PARA><PTEXT><PDAT>Nets have been known for as long as
there have been people by the sea, and fish in it.</PDAT></PTEXT></PARA></BTEXT></BRFSUM><DRWDESC>
<BTEXT><H><STEXT><PDAT>BRIEF DESCRIPTION OF THE DRAWINGS</PDAT></STEXT></H><PARA><PTEXT><PDAT>FIG.
</PDAT></PTEXT></PARA></BTEXT></DRWDESC></SDODE></PATDOC>
"""
APPLICATION = """<?xml version="1.0"?><patent-application-publication>
<subdoc-bibliographic-information><document-id><doc-number>20010000943</doc-number>
<kind-code>A1</kind-code><document-date>20010510</document-date></document-id>
<domestic-filing-data><application-number><doc-number>1</doc-number></application-number>
</domestic-filing-data><technical-information><title-of-invention>Device</title-of-invention>
</technical-information></subdoc-bibliographic-information><subdoc-description>
<cross-reference-to-related-applications><heading>CROSS REFERENCE TO RELATED APPLICATION</heading>
<paragraph><number>1.</number> A continuation.</paragraph></cross-reference-to-related-applications>
<summary-of-invention><section><heading>BACKGROUND ART </heading><paragraph><number>2.</number> An
example of devices of the usual kind was shown a long time ago by others.</paragraph></section>
<section><heading>DISCLOSURE OF THE INVENTION</heading><paragraph>No.</paragraph></section>
</summary-of-invention></subdoc-description></patent-application-publication>
"""


def test_older_forms_of_patents(tmp_path: Path) -> None:
    write(tmp_path, {"a.xml": OLDER + APPLICATION})
    grant, application = documents(read("patent_xml", tmp_path))
    assert grant.text == (
        "FIELD OF THE INVENTION\n\nIt relates to “nets”.\n\nBACKGROUND\n\nNets have been known "
        "for as long as there have been people by the sea, and fish in it.\n"
    )
    assert grant.meta["number"] == "06336130" and grant.meta["year"] == 2002
    assert application.text == (
        "BACKGROUND ART\n\nAn example of devices of the usual kind was shown a long time ago by "
        "others.\n"
    )
    assert application.meta == {
        "number": "20010000943",
        "kind": "A1",
        "date": "20010510",
        "title": "Device",
        "year": 2001,
    }
