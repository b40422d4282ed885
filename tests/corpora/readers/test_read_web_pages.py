"""Web pages: main text, WARC records of every kind, damage at every byte, hostile HTML."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path

import brotli
import pytest
from reading import documents, read, read_broken, reasons, write
from web import PAGE, SENTENCE, answer, record, warc

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.readers import _main_text, _warc, curated_urls

BOILERPLATE = ("Home", "About us", "never seen", "Copyright", "color")


def main_text(html: str | bytes, declared: str | None = None) -> tuple[str, str]:
    return _main_text.extract(html.encode() if isinstance(html, str) else html, declared)


def test_a_page_without_its_boilerplate(tmp_path: Path) -> None:
    write(tmp_path / "top", {"a/page.html": PAGE})
    (document,) = documents(read("html_pages", tmp_path / "top"))
    assert document.text.count(SENTENCE) == 2 and "Of mountains below the sea" in document.text
    assert not any(word in document.text for word in BOILERPLATE)
    assert (document.id, document.component) == ("top/a/page.html", "Pile-CC")


def test_records_of_every_kind(tmp_path: Path) -> None:
    content = (
        record("warcinfo", b"software: x\r\n")
        + record("request", b"GET / HTTP/1.1\r\n\r\n")
        + record("response", answer(PAGE), "http://sea.example/a")
        + record("response", answer(PAGE, 404))
        + record("response", answer(b"\xff\xd8", Content_Type="image/jpeg"))
        + record("response", b"sea.example 60 IN A 192.0.2.1", Content_Type="text/dns")
        + record("resource", PAGE, "http://sea.example/b", WARC_Truncated="length")
        + record("metadata", b"outlink: x\r\n")
        + record("revisit", answer(b""))
        + record("response", answer(b"<p></p>"))
    )
    write(tmp_path / "top", {"x.warc": content})
    records = read("warc_pages", tmp_path / "top")
    first, second = documents(records)
    assert first.meta == {"url": "http://sea.example/a", "date": "2020-01-02T03:04:05Z"}
    assert (first.id, first.source) == ("top/x.warc:3", f"{tmp_path}/top/x.warc:3")
    assert second.id == "top/x.warc:7" and second.meta["truncated"] == "length"
    assert first.text == second.text == main_text(PAGE)[0]
    assert reasons(records) == [
        "a warcinfo record",
        "a request record",
        "a status other than 200",
        "not HTML",
        "not HTML",
        "a metadata record",
        "a revisit record",
        "no main text",
    ]


CHUNKED = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in (PAGE[:90], PAGE[90:])) + b"0\r\n\r\n"
DEFLATED = zlib.compressobj(wbits=-15)
CODED = {
    "gzip": (gzip.compress(PAGE), {"Content_Encoding": "gzip"}),
    "zlib": (zlib.compress(PAGE), {"Content_Encoding": "deflate"}),
    "deflate": (DEFLATED.compress(PAGE) + DEFLATED.flush(), {"Content_Encoding": "deflate"}),
    "brotli": (brotli.compress(PAGE), {"Content_Encoding": "br"}),
    "twice": (brotli.compress(gzip.compress(PAGE)), {"Content_Encoding": "gzip, br"}),
    "taken off": (PAGE, {"Content_Encoding": "gzip"}),
    "chunks": (CHUNKED, {"Transfer_Encoding": "chunked"}),
    "put together": (PAGE, {"Transfer_Encoding": "chunked"}),
}


@pytest.mark.parametrize("coding", CODED)
def test_codings_of_http(coding: str, tmp_path: Path) -> None:
    body, headers = CODED[coding]
    write(tmp_path, {"x.warc": warc(("response", answer(body, **headers)))})
    (document,) = documents(read("warc_pages", tmp_path))
    assert document.text == main_text(PAGE)[0]


BOMB = b"<p>" + b"a" * (64 << 20)
DAMAGED = {
    "gzip cut": (gzip.compress(PAGE)[:-20], {"Content_Encoding": "gzip"}, "without its end"),
    "gzip flipped": (b"\x1f\x8b\x08" + bytes(40), {"Content_Encoding": "gzip"}, "damaged"),
    "brotli cut": (brotli.compress(PAGE)[:-5], {"Content_Encoding": "br"}, "without its end"),
    "brotli junk": (b"\xff" * 50, {"Content_Encoding": "br"}, "brotli"),
    "chunks cut": (CHUNKED[:-40], {"Transfer_Encoding": "chunked"}, "damaged"),
    "unknown": (PAGE, {"Content_Encoding": "sdch"}, "'sdch' is not known"),
    "bomb": (gzip.compress(BOMB, 1), {"Content_Encoding": "gzip"}, "larger than"),
    "brotli bomb": (brotli.compress(BOMB, quality=1), {"Content_Encoding": "br"}, "larger than"),
    "large": (b"<p>" + b"a" * (9 << 20), {}, "larger than"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_an_answer_that_is_damaged_costs_itself_alone(case: str, tmp_path: Path) -> None:
    body, headers, reason = DAMAGED[case]
    content = warc(("response", answer(body, **headers)), ("response", answer(PAGE)))
    write(tmp_path, {"x.warc": content})
    bad, good = read("warc_pages", tmp_path)
    assert isinstance(bad, Quarantined | Skipped) and reason in bad.reason
    assert isinstance(good, Document)


def test_http_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"x.warc": warc(("response", b"no HTTP at all"), ("response", answer(PAGE)))})
    records = read("warc_pages", tmp_path)
    assert len(documents(records)) == 1 and len(records) == 2


def test_every_cut_of_a_warc_is_noticed(tmp_path: Path) -> None:
    parts = [
        record("warcinfo", b"a: b\r\n"),
        record("response", answer(PAGE)),
        record("request", b"G"),
    ]
    data = b"".join(parts)
    ends = {sum(map(len, parts[:n])) - missing for n in range(4) for missing in range(5)}
    path = tmp_path / "x.warc"
    for size in range(1, len(data)):
        path.write_bytes(data[:size])
        records, error = read_broken("warc_pages", path)
        assert bool(error) == (size not in ends), size
        whole = sum(size >= sum(map(len, parts[: n + 1])) - 4 for n in range(3))
        assert len(records) == whole, size


def test_a_cut_gzip_gives_the_records_before_it(tmp_path: Path) -> None:
    members = [gzip.compress(record("response", answer(PAGE))) for _ in range(4)]
    write(tmp_path, {"x.warc.gz": b"".join(members)[:-9]})
    records, error = read_broken("warc_pages", tmp_path)
    assert "cut short" in error and len(documents(records)) >= 3
    write(tmp_path, {"x.warc.gz": b"".join(members[:2]) + b"\x1f\x8b\x08junk" + members[3]})
    records, error = read_broken("warc_pages", tmp_path)
    assert "damaged" in error and len(documents(records)) == 2
    (tmp_path / "x.warc.gz").unlink()
    write(tmp_path, {"y.warc.bz2": bz2.compress(record("response", answer(PAGE)))})
    assert len(documents(read("warc_pages", tmp_path))) == 1


@pytest.mark.parametrize("length", ["", "-1", "x", "5", "999999", "9" * 30])
def test_a_length_that_is_wrong(length: str, tmp_path: Path) -> None:
    good = record("response", answer(PAGE))
    bad = record("response", answer(PAGE), Content_Length=length)
    write(tmp_path, {"x.warc": good + bad + good})
    records, error = read_broken("warc_pages", tmp_path)
    assert "record 2" in error or "record 3" in error
    assert documents(records)[0].text == main_text(PAGE)[0]


@pytest.mark.parametrize(
    ("data", "declared"),
    [
        (b"<meta charset=shift_jis><p>" + ("海は深い。" * 60).encode("shift_jis"), None),
        (("<p>" + "海は深い。" * 60).encode("euc_jp"), "euc-jp"),
        (("<p>" + "海は深い。" * 60).encode(), "latin-1"),
        (("<p>" + "海は深い。" * 60).encode("utf-16"), None),
    ],
)
def test_charsets(data: bytes, declared: str | None) -> None:
    assert main_text(data, declared)[0].strip() == "海は深い。" * 60


PARAGRAPHS = f"<p>{SENTENCE}</p>" * 3
HOSTILE = {
    "levels": ("<div>" * 90_000 + PARAGRAPHS, "levels"),
    "tags": ("<p>x" * 200_000, "tags"),
    "attributes": (
        "<p " + " ".join(f"a{n}" for n in range(200_000)) + ">" + PARAGRAPHS,
        "attribute names",
    ),
    "slashes": (
        "<p " + "/".join(f"a{n}" for n in range(200_000)) + ">" + PARAGRAPHS,
        "attribute names",
    ),
    "quoted": (
        "<p " + " ".join(f'a{n}=">"' for n in range(200_000)) + ">" + PARAGRAPHS,
        "attribute names",
    ),
    "unclosed tag": ("<p " + " ".join(f"a{n}=x" for n in range(200_000)), "attribute names"),
    "binary": ("<p>\0" * 50, "binary"),
    "nothing": ("", "no main text"),
    "a script": ("<script>" + "a" * 1_000_000, "no main text"),
    "formatting": ("".join(f"<div><b a{n % 999}>x</div>" for n in range(45_000)) + PARAGRAPHS, ""),
    "misnested": ("<b><div></b>" * 400 + PARAGRAPHS, ""),
    "adopted": ("<a><div>x</a>" * 20_000 + PARAGRAPHS, "levels"),
    "forms": ("<form><div></form>" * 30_000 + PARAGRAPHS, "levels"),
    "options": ("<select>" + "<option>x" * 90_000 + "</select>" + PARAGRAPHS, ""),
    "brackets": ("<" * 2_000_000 + PARAGRAPHS, ""),
    "quotes": ("<p a='<p a=\"" * 40_000, "no main text"),
    "names": ("".join(f"<p a{n}>x</p>" for n in range(50_000)), "attribute names"),
    "comments": ("<!--" * 400_000, "no main text"),
    "tables": ("<table><tr><td>" * 30_000 + PARAGRAPHS, "levels"),
    "ids in a data address": (f"<p>{SENTENCE}<img src='data:{'/+ab' * 90_000}'>{PARAGRAPHS}", ""),
    "a class of many words": (f'<div class="{"a " * 200_000}">{PARAGRAPHS}</div>', ""),
}


@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.timeout(30)
def test_hostile_pages_take_bounded_time(case: str) -> None:
    """Unguarded, some of these take minutes to hours."""
    html, reason = HOSTILE[case]
    text, why = main_text(html)
    assert (reason in why) if reason else (SENTENCE in text and why == ""), (why, text[:99])
    assert bool(text) != bool(why)


def test_what_large_pages_are_spared_changes_no_text() -> None:
    marked = "A <b>bold</b>, <i class=x>leaning</i> <code>word()</code> <a href=x>link</a>."
    part = f"<p>{marked} {SENTENCE}</p>"
    few, many = main_text(part * 100)[0], main_text(part * 1000)[0]
    assert part.count("<") * 1000 // 2 > _main_text._FEW_TAGS > part.count("<") * 100 // 2
    assert len(few) * 10 == pytest.approx(len(many), abs=20) and many.startswith(few.rstrip())


def test_pages_of_links_out_of_a_warc(tmp_path: Path) -> None:
    links = (
        '{"url": "https://www.sea.example/a", "score": 5, "title": "A"}\n'
        '{"url": "http://sea.example/b", "score": 2}\n{"url": "http://sea.example/c", "score": 3}\n'
    )
    content = (
        record("response", answer(PAGE), "http://sea.example/a?utm_source=x")
        + record("response", answer(PAGE), "http://sea.example/a")
        + record("response", answer(PAGE), "http://sea.example/b")
        + record("response", answer(b"<p>"), "http://sea.example/c")
    )
    write(tmp_path, {"links/l.jsonl": links, "pages/p.warc.gz": gzip.compress(content)})
    (item,) = curated_urls.items(None, url=str(tmp_path / "links"), pages=str(tmp_path / "pages"))
    found = list(curated_urls.read(item, "OpenWebText2"))
    (page,) = documents(found)
    assert page.id == "links:sea.example/a" and page.text == main_text(PAGE)[0]
    assert page.meta == {
        "url": "http://sea.example/a?utm_source=x",
        "date": "2020-01-02T03:04:05Z",
        "title": "A",
        "score": 5,
    }
    assert sorted(reasons(found)) == [
        "no main text",
        "page of no curated link",
        "page seen before",
        "score below 3",
    ]


def test_pages_are_read_in_bounded_memory(tmp_path: Path) -> None:
    """Records of 64 MB each are measured, not held."""
    import tracemalloc

    big = answer(b"a" * (64 << 20))
    write(
        tmp_path, {"x.warc": warc(("request", big), ("response", big), ("response", answer(PAGE)))}
    )
    del big
    tracemalloc.start()
    records = list(_warc.pages(str(tmp_path / "x.warc")))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(records) == 3 and most < 30_000_000
