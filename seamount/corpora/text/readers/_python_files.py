"""Which Python files of this interpreter are read, in an order that is a hash of their names.

The files are dealt to two readers (one file in four gives its docstrings, the others their source),
so that no documentation document repeats a source document.
"""

from __future__ import annotations

import hashlib
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from seamount.core.records import Quarantined
from seamount.corpora.text.inputs import Item

# The Pile took files of up to 100,000 characters from its repositories (paper, appendix C).
SIZE_BYTES = (200, 100_000)
OWN_PACKAGES = frozenset({"seamount", "models", "tasks", "flows"})
_SKIPPED_FOLDERS = frozenset({"__pycache__", "site-packages", "dist-packages", "node_modules"})
_DOCUMENTATION_SHARE = 4


def roots() -> dict[str, Path]:
    """Name -> folder: the standard library and where distributions are installed."""
    paths = sysconfig.get_paths()
    found = {"python": Path(paths["stdlib"])}
    found["packages"] = Path(paths["purelib"])
    if paths["platlib"] != paths["purelib"]:
        found["platform-packages"] = Path(paths["platlib"])
    return found


def select(limit_bytes: int, for_documentation: bool) -> list[Item]:
    """Python files up to `limit_bytes`, in the order of the hash of their relative names."""
    hashed = [
        (hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest(), name, path)
        for root, folder in roots().items()
        for name, path in _python_files(root, folder)
    ]
    mine = [h for h in hashed if (h[0][0] % _DOCUMENTATION_SHARE == 0) == for_documentation]
    return take(((name, path) for _, name, path in sorted(mine)), limit_bytes, SIZE_BYTES)


def _python_files(root: str, folder: Path) -> Iterator[tuple[str, str]]:
    for current, folders, files in os.walk(folder):
        top = current == str(folder)
        folders[:] = [f for f in folders if _is_wanted(f, top and root != "python")]
        relative = os.path.relpath(current, folder)
        for file in files:
            if file.endswith(".py"):
                yield os.path.normpath(f"{root}/{relative}/{file}"), f"{current}/{file}"


def _is_wanted(folder: str, among_distributions: bool) -> bool:
    if folder in _SKIPPED_FOLDERS or folder.startswith("."):
        return False
    return not (among_distributions and folder in OWN_PACKAGES)


def take(
    files: Iterator[tuple[str, str]], limit_bytes: int, size_bytes: tuple[int, int]
) -> list[Item]:
    """The first files, as items, until their sizes reach `limit_bytes`."""
    items: list[Item] = []
    total = 0
    for name, path in files:
        if total >= limit_bytes:
            break
        status = os.stat(path)
        if size_bytes[0] <= status.st_size <= size_bytes[1]:
            items.append(Item(name, path, status.st_size, str(status.st_mtime_ns)))
            total += status.st_size
    return items


def read_text(item: Item) -> str | Quarantined:
    """The text of a file, or why it cannot be read as UTF-8."""
    try:
        return Path(item.location).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = f"invalid UTF-8 at byte {error.start} of the file"
        return Quarantined(item.name, 1, reason, item.size_bytes)
    except OSError as error:
        return Quarantined(item.name, 1, f"not readable: {error.strerror}", item.size_bytes)
