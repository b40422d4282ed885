"""One miniature of each raw kind, true to its specification: files and what they must give."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from miniatures import (
    ARTICLE,
    BOOK,
    EPUB,
    IRC_IRSSI,
    LINKS,
    MBOX,
    MEDLINE,
    MIT,
    NEWS,
    OPINIONS,
    PAGES,
    PAPER,
    PATENT,
    POSTS,
    SITTING,
    SRT,
    VTT,
    WIKI,
)
from reading import tar, zipped
from web import PAGE, answer, warc


@dataclass(frozen=True)
class Sample:
    """Files of one kind; how many documents, quarantined and skipped records they hold."""

    files: dict[str, bytes | str]
    documents: int
    quarantined: int = 0
    skipped: int = 0


def _lines(values: Sequence[dict[str, object]]) -> str:
    return "".join(json.dumps(v) + "\n" for v in values)


def patents() -> str:
    """Three patents in one file: two with a background, one without."""
    headings = ("BACKGROUND OF THE INVENTION", "TECHNICAL PROBLEM", "Background")
    return "".join(
        PATENT.format(number=number, heading=heading)
        for number, heading in enumerate(headings, 8_000_001)
    )


def _arxiv() -> Sample:
    paper: dict[str, bytes | str] = {
        "ms.tex": PAPER,
        "sections/one.tex": "From within. % x\n",
        "fig.pdf": b"%PDF-1.4",
    }
    monthly: dict[str, bytes | str] = {
        "0101/hep-th0101001.gz": gzip.compress(
            b"\\documentstyle{x}\\begin{document}Old\\end{document}"
        ),
        "0101/0101002.pdf": b"%PDF-1.4",
    }
    files: dict[str, bytes | str] = {
        "2001.00001v2.tar.gz": tar(paper, "w:gz"),
        "arXiv_src_0101_001.tar": tar(monthly),
        "plain.tex": "\\section{Only} a part\n",
    }
    return Sample(files, documents=3, skipped=1)


SAMPLES: dict[str, Callable[[], Sample]] = {
    "arxiv_latex": _arxiv,
    "warc_pages": lambda: Sample(
        {
            "a.warc": warc(("warcinfo", b"software: x\r\n"), ("response", answer(PAGE))),
            "b.warc.gz": gzip.compress(warc(("request", b"GET / HTTP/1.1\r\n\r\n")))
            + gzip.compress(warc(("response", answer(PAGE)), ("response", answer(PAGE, 404)))),
        },
        documents=2,
        skipped=3,
    ),
    "html_pages": lambda: Sample(
        {"a.html": PAGE, "b.htm.gz": gzip.compress(PAGE), "c.html": b"<p></p>"},
        documents=2,
        skipped=1,
    ),
    "pmc_xml": lambda: Sample(
        {"a.nxml": ARTICLE, "b.tar.gz": tar({"b/x.nxml": ARTICLE, "b/f.jpg": b"\xff"}, "w:gz")},
        2,
        0,
        1,
    ),
    "pubmed_abstracts": lambda: Sample({"m.xml.gz": gzip.compress(MEDLINE.encode())}, 1, 1, 1),
    "stackexchange_posts": lambda: Sample({"sea.stackexchange.com/Posts.xml": POSTS}, 2, 0, 5),
    "git_tree": lambda: Sample(
        {
            "LICENSE": MIT,
            "a.py": "print()\n",
            "b.png": b"\x89PNG",
            "c.dat": b"\0\1",
            "long.txt": "x" * 100_000,
            ".hidden": "no",
        },
        2,
        0,
        3,
    ),
    "gutenberg_books": lambda: Sample(
        {"12-8.txt": BOOK.encode("latin-1"), "bare.txt": "No marks.\n"}, 2
    ),
    "maildir": lambda: Sample(
        {
            "list.mbox": MBOX,
            "lay-k/sent/1.": "Message-ID: <x>\nSubject: Deal\n\nLet's go.\n",
            "box/cur/1:2,S": "Subject: Empty\n\n",
            "box/tmp/2": "Subject: not yet\n\nno",
            "box/new/3": b"\x00\x01 no mail",
        },
        3,
        1,
        1,
    ),
    "irc_logs": lambda: Sample(
        {
            "2004/07/05/#ubuntu.txt": "[12:34] <ann> hi\n=== bob [n=b@c] has joined #ubuntu\n",
            "2004/07/06/#ubuntu.txt": "[00:01]  * ann waves\n",
            "2004/07/12/#ubuntu.txt": "=== cy has quit\n",
            "irssi/#sea.log": IRC_IRSSI,
        },
        3,
        0,
        1,
    ),
    "patent_xml": lambda: Sample({"ipg150106.zip": zipped({"ipg150106.xml": patents()})}, 2, 0, 1),
    "europarl": lambda: Sample({"txt/en/ep-00-01-17.txt": SITTING}, 1),
    "wikitext": lambda: Sample({"w-pages-articles.xml.bz2": bz2.compress(WIKI.encode())}, 1, 0, 3),
    "hacker_news": lambda: Sample(
        {"a.jsonl": _lines(NEWS[:4]), "b.jsonl.gz": gzip.compress(_lines(NEWS[4:]).encode())},
        1,
        0,
        4,
    ),
    "subtitles": lambda: Sample({"a.srt": SRT, "b.vtt": VTT, "c.srt": "no cue"}, 2, 1),
    "plain_text": lambda: Sample({"a.txt": "One.\n", "b.txt": b"\xff\xfeT\0w\0o\0"}, 2),
    "courtlistener_opinions": lambda: Sample(
        {"o.json": json.dumps(OPINIONS), "p.jsonl": _lines(OPINIONS[:1]) + "{\n[]\n"}, 3, 2, 1
    ),
    "curated_urls": lambda: Sample(
        {"links.jsonl": _lines(LINKS) + "{\n", "pages.jsonl": _lines(PAGES)}, 1, 1, 7
    ),
    "books_epub": lambda: Sample({"t.epub": zipped(EPUB), "bad.epub": b"PK no"}, 1, 1),
}
