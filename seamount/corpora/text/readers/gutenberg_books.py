"""Project Gutenberg text files: one document a book, never cut, without header and licence.

Where a file has no Gutenberg marks the whole of it is the book. `meta` keeps title, author,
language, release_year and, where the header tells when the book first appeared, year.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files

COMPONENT = "Gutenberg (PG-19)"
_WANTED = _files.with_suffix(".txt")
_START = re.compile(
    r"^[ \t]*\*\*\* ?START OF (?:THE|THIS) PROJECT GUTENBERG.*?(?:\*\*\*[^\n]*\n?|\n[ \t]*\n)",
    re.MULTILINE | re.IGNORECASE | re.DOTALL,
)
# The mark that ended the header of books of the 1990s.
_SMALL_PRINT = re.compile(r"^\*?END[ *]+THE SMALL PRINT![^\n]*\n", re.MULTILINE | re.IGNORECASE)
_END = re.compile(
    r"^[ \t]*(?:\*\*\* ?END OF (?:THE|THIS) PROJECT GUTENBERG"
    r"|\*{0,3} ?End of (?:the |this )?Project Gutenberg(?:'s|’s)? ?)",
    re.MULTILINE | re.IGNORECASE,
)
_CREDIT = re.compile(
    r"\s*(?:Produced by|E-?text prepared by|This e-?text was (?:produced|prepared) by"
    r"|\[?Transcribed (?:from|by))\b.*?(?:\n[ \t]*\n|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FIELD = re.compile(
    r"^(Title|Author|Editor|Translator|Language|Release Date|Posting Date|Original "
    r"publication|Character set encoding): *(.*(?:\n[ \t]+\S.*)*)",
    re.MULTILINE,
)
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
_MOST_HEADER = 40_000  # characters; the small print of the 1990s is longest, with 15,000


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .txt, compressed or not, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a book."""
    for file in _archives.files(item, _WANTED):
        if not isinstance(file, _archives.File):
            yield file
            continue
        found = _encodings.text_of(file, _declared(file.data))
        if isinstance(found, Skipped):
            yield found
            continue
        book, meta = _book(found[0].replace("\r\n", "\n"))
        yield Document(book, component, file.id, file.source, {**found[1], **meta})


def _declared(data: bytes) -> str | None:
    found = re.search(rb"Character set encoding: *([\w.-]+)", data[:_MOST_HEADER])
    return found[1].decode() if found else None


def _book(text: str) -> tuple[str, dict[str, object]]:
    """The book's own text and what its header says of it."""
    head = text[:_MOST_HEADER]
    start = 0
    for mark in (_START, _SMALL_PRINT):
        if found := mark.search(head, start):
            start = found.end()
    end = next((m.start() for m in _END.finditer(text, start)), len(text))
    body = text[start:end]
    if start and (credit := _CREDIT.match(body)):
        body = body[credit.end() :]
    return body.strip("\n \t") + "\n", _meta(head[:start])


def _meta(header: str) -> dict[str, object]:
    fields = {name: " ".join(value.split()) for name, value in _FIELD.findall(header)}
    meta: dict[str, object] = {
        key.lower(): fields[key]
        for key in ("Title", "Author", "Editor", "Translator", "Language")
        if fields.get(key)
    }
    released = fields.get("Release Date") or fields.get("Posting Date", "")
    for key, value in (
        ("year", fields.get("Original publication", "")),
        ("release_year", released),
    ):
        if years := _YEAR.findall(value):
            meta[key] = int(years[-1])
    return meta
