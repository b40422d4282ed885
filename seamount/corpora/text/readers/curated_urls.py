"""Pages that people found worth a link: one document a page, as OpenWebText was made.

Submissions are JSON objects with `url` and `score` (Reddit's dumps), pages JSON objects with `url`
and `html` or `text`; both stand in .jsonl files, in any order. Pages may stand in WARC files too,
of which the main text is taken. A link counts from a score of
`least_score` on; addresses that differ only in scheme, `www.`, fragment, tracking parameters or a
last slash are one. Nothing is fetched: a link whose page is not there is passed over. `meta` keeps
url, title and score.
"""

from __future__ import annotations

import sqlite3
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _html, _json, _main_text, _warc

COMPONENT = "OpenWebText2"
_WANTED = _files.with_suffix(".jsonl", ".ndjson", ".json")
_TRACKING = ("utm_", "fbclid", "gclid", "ref_src")
_SCHEMA = """
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
CREATE TABLE link (key TEXT PRIMARY KEY, score INTEGER, title TEXT, source TEXT, told INTEGER);
"""


def items(limit_bytes: int | None, *, url: str, pages: str = "") -> list[Item]:
    """All files of submissions at `url` and of pages at `pages` (or there too), as one item."""
    found = _files.items(url, limit_bytes, _is_read)
    name = found[0].name.partition("/")[0]
    if pages:
        found += _files.items(pages, None, _is_read)
    return [_files.group(name, found)]


def _is_read(name: str) -> bool:
    return _WANTED(name) or _archives.is_archive(name) or _warc.is_warc(name)


def read(
    item: Item, component: str, *, least_score: int = 3, **_: Any
) -> Iterator[Document | Quarantined | Skipped]:
    """One document a page; its id is the item's name and the address without its scheme."""
    with _scratch() as table:
        for record in _records(item):
            if not isinstance(record, _json.Record):
                yield record
            elif not _is_page(record.value) and (reason := _keep(table, record, least_score)):
                yield Skipped(record.source, reason, record.size_bytes)
        for record in _records(item):
            if isinstance(record, _json.Record) and _is_page(record.value):
                yield _page(table, record, item, component)
        yield from _warc_pages(table, item, component)
        rest = "SELECT source, length(title) FROM link WHERE told = 0 ORDER BY key"
        for source, size in table.execute(rest):
            yield Skipped(source, "no page for this link", size)


@contextmanager
def _scratch() -> Iterator[sqlite3.Connection]:
    with (
        tempfile.TemporaryDirectory(prefix="seamount-links-") as folder,
        closing(sqlite3.connect(Path(folder) / "links.sqlite", isolation_level=None)) as table,
    ):
        table.executescript(_SCHEMA)
        table.execute("BEGIN")
        yield table


def _records(item: Item) -> Iterator[_json.Record | Quarantined | Skipped]:
    for location in _files.locations(item):
        if _warc.is_warc(location):
            continue
        yield from _json.records(Item(item.name, location, 0, ""), _WANTED)


def _is_page(value: dict[str, Any]) -> bool:
    return isinstance(value.get("html"), str) or isinstance(value.get("text"), str)


def _keep(table: sqlite3.Connection, record: _json.Record, least_score: int) -> str:
    """Note a submission's link; why it is passed over, or nothing."""
    score, key = record.value.get("score"), key_of(record.value.get("url"))
    if type(score) is not int or not abs(score) < 1 << 62:
        return "no score"
    if not key:
        return "no web address"
    if score < least_score:
        return f"score below {least_score}"
    row = (key, score, str(record.value.get("title") or ""), record.source)
    seen = table.execute("SELECT 1 FROM link WHERE key = ?", (key,)).fetchone()
    if seen:
        table.execute("UPDATE link SET score = max(score, ?) WHERE key = ?", (score, key))
        return "address seen before"
    table.execute("INSERT INTO link VALUES (?, ?, ?, ?, 0)", row)
    return ""


def _page(
    table: sqlite3.Connection, record: _json.Record, item: Item, component: str
) -> Document | Skipped:
    value = record.value
    link = _Link.take(table, value.get("url"))
    if link.refusal:
        return Skipped(record.source, link.refusal, record.size_bytes)
    text = value["text"] if isinstance(value.get("text"), str) else _html.to_text(value["html"])
    return link.document(text, component, item, record.source, {"url": value["url"]})


def _warc_pages(
    table: sqlite3.Connection, item: Item, component: str
) -> Iterator[Document | Quarantined | Skipped]:
    for location in filter(_warc.is_warc, _files.locations(item)):
        for page in _warc.pages(location):
            if not isinstance(page, _warc.Page):
                yield page
                continue
            link = _Link.take(table, page.url)
            text, reason = (
                ("", link.refusal) if link.refusal else _main_text.extract(page.data, page.charset)
            )
            if reason:
                yield Skipped(page.source, reason, len(page.data))
            else:
                yield link.document(text, component, item, page.source, page.meta)


@dataclass(frozen=True)
class _Link:
    """What a link says of the page at an address, or why the page is passed over."""

    key: str
    refusal: str
    meta: dict[str, Any]

    @classmethod
    def take(cls, table: sqlite3.Connection, url: Any) -> _Link:
        """The link to `url`, which from now on has its page."""
        key = key_of(url)
        found = table.execute("SELECT score, title, told FROM link WHERE key = ?", (key,))
        link = found.fetchone()
        if link is None or link[2]:
            return cls(key, "page seen before" if link else "page of no curated link", {})
        table.execute("UPDATE link SET told = 1 WHERE key = ?", (key,))
        return cls(key, "", {"title": link[1], "score": link[0]})

    def document(
        self, text: str, component: str, item: Item, source: str, meta: dict[str, Any]
    ) -> Document:
        """The page's document, with the link's title and score."""
        return Document(text, component, f"{item.name}:{self.key}", source, {**meta, **self.meta})


def key_of(url: Any) -> str:
    """What addresses of the same page have in common; empty for what is no web address."""
    try:
        parts = urllib.parse.urlsplit(url if isinstance(url, str) else "")
        host, port = (parts.hostname or "").removeprefix("www."), parts.port
        query = urllib.parse.parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    kept = urllib.parse.urlencode([q for q in query if not q[0].startswith(_TRACKING)])
    place = host if port in (None, 80, 443) else f"{host}:{port}"
    return f"{place}{parts.path.rstrip('/')}{'?' if kept else ''}{kept}"
