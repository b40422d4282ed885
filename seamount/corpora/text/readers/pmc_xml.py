"""PubMed Central's articles (JATS or NLM XML): title, abstract and body as Markdown.

Sections become headings, lists lists, tables rows of ` | `; `<sup>` and `<sub>` become `^2^` and
`~2~` as pandoc writes them; formulas are their TeX where there is some. References, figures' files,
names of the authors and what else is no text of the article go. `meta` keeps pmcid, pmid, doi,
title, journal, year and licence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files, _jats, _xml

COMPONENT = "PubMed Central"
_WANTED = _files.with_suffix(".nxml", ".xml")
_LICENCE = re.compile(r"creativecommons\.org/(licenses|publicdomain)/([a-z-]+)/?([0-9.]*)", re.I)


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .nxml or .xml, compressed or not, and bundles (.tar.gz) of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document an article; its id is the file's name, with the member's name in a bundle, and
    the article's place where the file holds several.
    """
    for file in _archives.files(item, _WANTED):
        if isinstance(file, _archives.File):
            yield from _articles(file, component)
        else:
            yield file


def _articles(file: _archives.File, component: str) -> Iterator[Document | Quarantined | Skipped]:
    try:
        root = _xml.parse(file.data)
    except _xml.NotXml as error:
        yield _encodings.quarantined(file, str(error))
        return
    if _xml.local_name(root) == "article":
        yield _article(root, file, component, file.id, len(file.data))
        return
    found = list(_xml.find_all(root, "article"))
    if not found:
        yield Skipped(file.source, "no article element", len(file.data))
    for number, article in enumerate(found, 1):
        share = len(file.data) // len(found)
        yield _article(article, file, component, f"{file.id}:{number}", share)


def _article(
    article: _xml.Element, file: _archives.File, component: str, own_id: str, size: int
) -> Document | Skipped:
    front = _xml.find(article, "front", "article-meta")
    front = article if front is None else front
    title = _xml.text_of(_xml.find(front, "title-group", "article-title"))
    body = _jats.markdown(_xml.find(article, "body"))
    abstract = _jats.markdown(_xml.find(front, "abstract"), level=2)
    if not body and not abstract:
        return Skipped(file.source, "neither abstract nor body", size)
    parts = [f"# {title}" if title else "", f"## Abstract\n\n{abstract}" if abstract else "", body]
    text = "\n\n".join(part for part in parts if part) + "\n"
    return Document(text, component, own_id, file.source, _meta(article, front, title))


def _meta(article: _xml.Element, front: _xml.Element, title: str) -> dict[str, object]:
    meta: dict[str, object] = {"title": title}
    for number in _xml.find_all(front, "article-id"):
        kind = {"pmc": "pmcid", "pmcid": "pmcid", "pmid": "pmid", "doi": "doi"}
        if name := kind.get(number.get("pub-id-type", "")):
            meta.setdefault(name, _xml.text_of(number))
    journal = next(_xml.find_all(article, "journal-title"), None)
    years = [
        int(text)
        for date in _xml.find_all(front, "pub-date")
        if (text := _xml.text_of(_xml.find(date, "year"))).isdigit()
    ]
    meta["journal"] = _xml.text_of(journal)
    meta["year"] = min(years, default="")
    meta["licence"] = _licence(front)
    return {name: value for name, value in meta.items() if value}


def _licence(front: _xml.Element) -> str:
    """`CC-BY-4.0` and the like where an address tells, else the words of the licence."""
    for element in _xml.find_all(front, "permissions"):
        texts = [value for e in element.iter() for value in getattr(e, "attrib", {}).values()]
        words = " ".join(_xml.text_of(e) for e in _xml.find_all(element, "license"))
        if found := _LICENCE.search(" ".join([*texts, words])):
            if found[1].lower() == "publicdomain":
                return "CC0-1.0" if found[2].lower() == "zero" else "public domain"
            return f"CC-{found[2].upper()}-{found[3]}".rstrip("-")
        kinds = [e.get("license-type", "") for e in _xml.find_all(element, "license")]
        if words or any(kinds):
            return (words or " ".join(kinds))[:300]
    return ""
