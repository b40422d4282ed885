"""Source files of the installed Python distributions and the standard library."""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _python_files


def items(limit_bytes: int) -> list[Item]:
    """Three of four Python files, in hash order."""
    return _python_files.select(limit_bytes, for_documentation=False)


def read(item: Item, component: str) -> Iterator[Document | Quarantined]:
    """One document: the whole file."""
    text = _python_files.read_text(item)
    yield text if isinstance(text, Quarantined) else Document(text, component, item.name, item.name)
