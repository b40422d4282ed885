"""Web pages of WARC files (.warc, .warc.gz; what Common Crawl gives): one document a page.

A page is an HTML answer with status 200, or an HTML `resource`; its document is the main text, by
resiliparse, in the bounds that _main_text states. Other records are Skipped by kind. `meta` keeps
url and date, and `truncated` where the crawler cut the page.
"""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _files, _main_text, _warc

COMPONENT = "Pile-CC"


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .warc, compressed or not."""
    return _files.items(url, limit_bytes, _warc.is_warc)


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a page; its id is the file's name and the number of its record."""
    for page in _warc.pages(item.location):
        if not isinstance(page, _warc.Page):
            yield page
            continue
        text, reason = _main_text.extract(page.data, page.charset)
        if reason:
            yield Skipped(page.source, reason, len(page.data))
        else:
            yield Document(text, component, f"{item.name}:{page.number}", page.source, page.meta)
