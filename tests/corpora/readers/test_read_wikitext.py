"""MediaWiki dumps: what is passed over, and what plain text is left of wikitext."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from miniatures import WIKI
from reading import documents, read, read_broken, reasons, write

from seamount.corpora.text.readers.wikitext import to_text


def test_pages(tmp_path: Path) -> None:
    write(tmp_path, {"dewiki-20200101-pages-articles1.xml-p1p9": WIKI})
    records = read("wikitext", tmp_path)
    (page,) = documents(records)
    assert page.text == "Sea\n\nSea is salt water.\n\nFish\nCods and & more out"
    assert page.meta == {"title": "Sea", "revision": "91"} and page.id.endswith("-p1p9:1")
    assert reasons(records) == ["redirect", "namespace 1", "not wikitext"]


def test_other_namespaces_on_request(tmp_path: Path) -> None:
    write(tmp_path, {"w.xml": WIKI})
    found = documents(read("wikitext", tmp_path, namespaces=(1,)))
    assert [d.text for d in found] == ["Talk:Sea\n\nchat"]


def test_the_newest_revision_counts(tmp_path: Path) -> None:
    old = "<revision><id>{}</id><text>{}</text></revision>"
    pages = f"<page><title>A</title>{old.format(1, 'old')}{old.format(2, 'new')}</page>"
    write(tmp_path, {"w.xml": f"<mediawiki>{pages}<page><title>B</title></page></mediawiki>"})
    records = read("wikitext", tmp_path)
    assert [d.text for d in documents(records)] == ["A\n\nnew"]
    assert documents(records)[0].meta["revision"] == "2"
    assert reasons(records) == ["no revision"]


def test_a_dump_cut_short(tmp_path: Path) -> None:
    write(tmp_path, {"w.xml": WIKI[: WIKI.index("<page><title>Talk")]})
    records, error = read_broken("wikitext", tmp_path)
    assert len(documents(records)) == 1 and "w.xml" in error and "cut short" in error


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("'''''a''''' ''b''", "a b"),
        ("[[a|b]] [[c]]s [[:Category:d]] [[w:e]]", "b cs Category:d w:e"),
        ("[[File:a.png|thumb|x [[y]]]]z", "z"),
        ("[http://a.b c] [http://a.b] http://a.b", "c  http://a.b"),
        ("a<ref name=x>b</ref>c<ref name=x/>d", "acd"),
        ("<math>x^2</math> <nowiki>[[a]]</nowiki>", "x^2 [[a]]"),
        ("a<br/>b<!-- c -->", "a\nb"),
        ("{{a|{{b}}}}c\n{|\n|d\n|}\ne", "c\n\ne"),
        ("&nbsp;a&mdash;b &#xD800;", "a—b \ufffd"),
        ("<blockquote>a ''b''</blockquote>", "a b"),
        ("* a\n# b\n; c : d", "a\nb\nc  d"),
        ("== a ==\n=== b ===\nc\n== d ==", "a\nb\nc"),
        ("", ""),
    ],
)
def test_plain_text(source: str, text: str) -> None:
    assert to_text(source) == text


@pytest.mark.parametrize("piece", ["{{a|", "[[a|", "<b>", "[http://a ", "{{a|[[b|", "{{{a|"])
def test_pages_that_would_take_minutes_are_set_aside(piece: str, tmp_path: Path) -> None:
    page = "<page><title>T</title><ns>0</ns><id>{}</id><revision><text>{}</text></revision></page>"
    hostile = (piece * 20_000).replace("<", "&lt;")
    write(
        tmp_path,
        {"w.xml": f"<mediawiki>{page.format(1, hostile)}{page.format(2, 'b')}</mediawiki>"},
    )
    started = time.process_time()
    records = read("wikitext", tmp_path)
    assert reasons(records) == ["too many brackets that are never closed"]
    assert [d.text for d in documents(records)] == ["T\n\nb"]
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "piece", ["{{", "[[", "''", "{|\n|", "== a ==\n", "{{a}}", "[[a|b]]", "}}]]"]
)
def test_odd_wikitext_takes_linear_time(piece: str) -> None:
    started = time.process_time()
    to_text(piece * 20_000)
    assert time.process_time() - started < 20
