"""Licence texts and notices that the installed distributions carry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _python_files, package_readmes

_WORDS = ("licen", "copying", "notice", "copyright")
_SIZE_BYTES = (200, 400_000)


def items(limit_bytes: int) -> list[Item]:
    """Files in metadata folders whose name speaks of a licence, sorted by name."""
    files = (
        (f"{root}/{path.relative_to(folder.parent)}", str(path))
        for root, folder in package_readmes.metadata_folders()
        for path in sorted(folder.rglob("*"))
        if _is_licence(path)
    )
    return _python_files.take(files, limit_bytes, _SIZE_BYTES)


def _is_licence(path: Path) -> bool:
    return any(word in path.name.lower() for word in _WORDS) and path.is_file()


def read(item: Item, component: str) -> Iterator[Document | Quarantined]:
    """One document: the whole file."""
    text = _python_files.read_text(item)
    yield text if isinstance(text, Quarantined) else Document(text, component, item.name, item.name)
