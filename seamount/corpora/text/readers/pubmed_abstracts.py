"""PubMed's baseline and update files (Medline XML): title and abstract, one document a citation.

A citation without an abstract is passed over. Labelled parts (BACKGROUND, METHODS) keep their
labels. `meta` keeps pmid, title, journal and year.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _files, _streams, _xml

COMPONENT = "PubMed Abstracts"
_YEAR = re.compile(r"\d{4}")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .xml, compressed or not."""
    return _files.items(url, limit_bytes, _files.with_suffix(".xml"))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a PubmedArticle; its id is the file's name and the PMID."""
    with _streams.opened(item.location) as stream:
        found = _xml.records(stream, item.location, "PubmedArticle", "PubmedBookArticle")
        for number, article in enumerate(found, 1):
            yield _document(article, item, component, number)


def _document(
    article: _xml.Element, item: Item, component: str, number: int
) -> Document | Quarantined | Skipped:
    if _xml.local_name(article) != "PubmedArticle":
        size = len(_xml.raw_text(article).encode())
        return Skipped(f"{item.location}:{number}", "a book, not an article", size)
    citation = _xml.find(article, "MedlineCitation")
    pmid = _xml.text_of(_xml.find(article, "MedlineCitation", "PMID")) or str(number)
    source = f"{item.location}:{pmid}"
    body = _xml.find(article, "MedlineCitation", "Article")
    if citation is None or body is None:
        size = len(_xml.raw_text(article).encode())
        return Quarantined(source, number, "no MedlineCitation with an Article", size)
    abstract = _abstract(_xml.find(body, "Abstract"))
    title = _xml.text_of(_xml.find(body, "ArticleTitle"))
    if not abstract:
        return Skipped(source, "no abstract", len(title.encode()))
    text = f"{title}\n{abstract}" if title else abstract
    return Document(text, component, f"{item.name}:{pmid}", source, _meta(body, pmid, title))


def _abstract(abstract: _xml.Element | None) -> str:
    parts = []
    for part in [] if abstract is None else abstract:
        text = _xml.text_of(part) if _xml.local_name(part) == "AbstractText" else ""
        label = part.get("Label", "")
        if text:
            parts.append(f"{label}: {text}" if label and label != "UNLABELLED" else text)
    return "\n".join(parts)


def _meta(body: _xml.Element, pmid: str, title: str) -> dict[str, object]:
    meta: dict[str, object] = {"pmid": pmid, "title": title}
    if journal := _xml.text_of(_xml.find(body, "Journal", "Title")):
        meta["journal"] = journal
    published = _xml.text_of(_xml.find(body, "Journal", "JournalIssue", "PubDate"))
    if year := _YEAR.search(published):
        meta["year"] = int(year[0])
    return meta
