"""Court opinions as CourtListener's JSON: one document an opinion.

The text is `plain_text` where there is any, else the first of the HTML and XML fields that has
some, as text. Files hold one object, a list, or an object a line; archives hold such files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _html, _json

COMPONENT = "FreeLaw"
_WANTED = _files.with_suffix(".json", ".jsonl", ".ndjson")
_PLAIN = "plain_text"
_MARKED_UP = (
    "html",
    "html_lawbox",
    "html_columbia",
    "html_anon_2020",
    "html_with_citations",
    "xml_harvard",
)
_KEPT = ("type", "case_name", "court", "date_filed", "author_str", "absolute_url", "resource_uri")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .json, .jsonl or .ndjson, compressed or not, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document an opinion; its id is the file's name and the opinion's own number."""
    for record in _json.records(item, _WANTED):
        if not isinstance(record, _json.Record):
            yield record
            continue
        text = _text(record.value)
        if text is None:
            yield Skipped(record.source, "no text field with text", record.size_bytes)
            continue
        own = record.value.get("id") or record.value.get("resource_uri") or record.number
        meta = {k: v for k in _KEPT if isinstance(v := record.value.get(k), str) and v}
        yield Document(text, component, f"{record.file_id}:{own}", record.source, meta)


def _text(opinion: dict[str, Any]) -> str | None:
    plain = opinion.get(_PLAIN)
    if isinstance(plain, str) and plain.strip():
        return plain
    for name in _MARKED_UP:
        value = opinion.get(name)
        if isinstance(value, str) and (text := _html.to_text(value)).strip():
            return text
    return None
