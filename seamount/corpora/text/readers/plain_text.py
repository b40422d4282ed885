"""Text files, one document each: grant abstracts, philosophy papers, subtitles already made text.

The encoding is found; a file with a NUL near its start is passed over as binary.
"""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files

COMPONENT = "PhilPapers"
_WANTED = _files.with_suffix(".txt", ".text", ".md", ".rst")


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Files called .txt, .text, .md or .rst, compressed or not, and archives of them."""
    return _files.items(url, limit_bytes, lambda n: _WANTED(n) or _archives.is_archive(n))


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document a file: the whole text."""
    for file in _archives.files(item, _WANTED):
        if not isinstance(file, _archives.File):
            yield file
            continue
        found = _encodings.text_of(file)
        if isinstance(found, Skipped):
            yield found
        else:
            yield Document(found[0], component, file.id, file.source, dict(found[1]))
