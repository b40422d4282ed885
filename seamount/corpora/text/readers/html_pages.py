"""Web pages as files (.html, .htm, .xhtml): one document a file, its main text by resiliparse.

Pages without main text, and those beyond the bounds that _main_text states, are Skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _files, _main_text

COMPONENT = "Pile-CC"
_WANTED = _files.with_suffix(".html", ".htm", ".xhtml")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .html, .htm or .xhtml, compressed or not, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a file."""
    for file in _archives.files(item, _WANTED, _main_text.MOST_BYTES):
        if not isinstance(file, _archives.File):
            yield file
            continue
        text, reason = _main_text.extract(file.data)
        if reason:
            yield Skipped(file.source, reason, len(file.data))
        else:
            yield Document(text, component, file.id, file.source)
