"""Long descriptions (READMEs) of the installed distributions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib.metadata import PathDistribution
from pathlib import Path

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _python_files

_SIZE_BYTES = (300, 400_000)


def items(limit_bytes: int) -> list[Item]:
    """Metadata files, by the name of their distribution."""
    files = (
        (f"{root}/{path.parent.name}", str(path))
        for root, path in metadata_folders()
        for path in itertools.chain(path.glob("METADATA"), path.glob("PKG-INFO"))
    )
    return _python_files.take(files, limit_bytes, _SIZE_BYTES)


def metadata_folders() -> list[tuple[str, Path]]:
    """(root name, folder) of every installed distribution's metadata but this project's own."""
    return [
        (root, path)
        for root, folder in _python_files.roots().items()
        for path in sorted(itertools.chain(folder.glob("*.dist-info"), folder.glob("*.egg-info")))
        if path.is_dir() and path.name.split("-")[0] not in _python_files.OWN_PACKAGES
    ]


def read(item: Item, component: str) -> Iterator[Document | Quarantined]:
    """One document: the description, where there is one."""
    metadata = PathDistribution(Path(item.location).parent).metadata
    text = metadata.get_payload() or metadata.get("Description") or ""  # type: ignore[attr-defined]
    if isinstance(text, str) and text.strip() not in ("", "UNKNOWN"):
        yield Document(text, component, item.name, item.name)
