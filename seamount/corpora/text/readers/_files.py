"""The files below a URL as items: names, sizes and stamps, sorted, nothing read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text.inputs import Item

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip")
LINK = "link:"
_STAMPS = ("ETag", "etag", "mtime", "last_modified", "LastModified", "created")


def with_suffix(*suffixes: str) -> Callable[[str], bool]:
    """Whether a file's name ends in one of `suffixes`, compressed or not, in any case."""
    endings = tuple(s + c for s in suffixes for c in ("", *COMPRESSED))
    return lambda name: name.lower().endswith(endings)


def items(url: str, limit_bytes: int | None, wanted: Callable[[str], bool]) -> list[Item]:
    """Files below `url` (or `url` itself) whose name is `wanted`, up to `limit_bytes`.

    Raises UserError where nothing stands at `url`, or nothing there is wanted.
    """
    return named(take(everything(url), limit_bytes, wanted), url)


def take(
    found: Iterable[Item], limit_bytes: int | None, wanted: Callable[[str], bool] | None = None
) -> list[Item]:
    """The first items whose name is `wanted`, until their sizes reach `limit_bytes`."""
    taken: list[Item] = []
    total = 0
    for item in found:
        if limit_bytes is not None and total >= limit_bytes:
            break
        if wanted is None or wanted(item.name):
            taken.append(item)
            total += item.size_bytes
    return taken


def named(found: list[Item], url: str) -> list[Item]:
    """`found`, or UserError where it is empty."""
    if not found:
        raise UserError(f"nothing that this reader reads stands at {url!r}: check URL and reader")
    return found


def everything(
    url: str, hidden: bool = False, enters: Callable[[str], bool] = lambda folder: True
) -> list[Item]:
    """Every file below `url` (or `url` itself) as an item called TOP/path, sorted by name.

    Links to folders are not followed; the stamp of a link to a file begins with LINK. Names that
    begin with a dot are passed over unless `hidden`, and so are folders that `enters` refuses.
    Raises UserError where nothing stands at `url`.
    """
    fs, path = storage.filesystem(url)
    base = path.rstrip("/")
    if not storage.exists(url):
        raise UserError(f"nothing stands at {url!r}: check the path")
    if fs.isfile(path):
        return [_item(fs.info(path), PurePosixPath(base).name, url)]
    top = PurePosixPath(base).name or "files"
    found = (
        _item(info, f"{top}/{below}", storage.join(url, below))
        for below, info in _walk(fs, base, hidden, enters)
    )
    return sorted(found, key=lambda item: item.name)


def _walk(
    fs: Any, base: str, hidden: bool, enters: Callable[[str], bool]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for folder, folders, files in fs.walk(base, detail=True):
        below = folder[len(base) :].strip("/")
        for name in list(folders):
            if (name.startswith(".") and not hidden) or not enters(f"/{below}/{name}"):
                del folders[name]
        for name, info in files.items():
            if name and (hidden or not name.startswith(".")) and _is_file(fs, info):
                yield (f"{below}/{name}" if below else name), info


def _is_file(fs: Any, info: dict[str, Any]) -> bool:
    """Neither a pipe nor a device, nor a link to a folder or to nothing."""
    return info["type"] == "file" or bool(info.get("islink") and fs.isfile(info["name"]))


def _item(info: dict[str, Any], name: str, location: str) -> Item:
    size = int(info.get("size") or 0)
    mark = next((info[k] for k in _STAMPS if info.get(k)), "")
    stamp = f"{LINK if info.get('islink') else ''}{size}-{mark}"
    return Item(printable(name), location, size, stamp)


def printable(name: str) -> str:
    """`name` with bytes that are no UTF-8 written as \\xNN, so that it can stand in an id."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def group(name: str, members: list[Item]) -> Item:
    """Several files as one item; `locations` gives them back in order."""
    stamp = storage.digest_of([[m.name, m.size_bytes, m.stamp] for m in members])
    where = "\n".join(m.location for m in members)
    return Item(name, where, sum(m.size_bytes for m in members), stamp)


def locations(item: Item) -> list[str]:
    """The URLs of the files that an item stands for: one, or those of a group."""
    return item.location.split("\n")


def grouped(found: Iterable[Item], key: Callable[[Item], str]) -> list[Item]:
    """One item for each value of `key`, sorted by it, of the items that have it, in order."""
    ordered = sorted(found, key=lambda item: (key(item), item.name))
    return [group(name, list(members)) for name, members in itertools.groupby(ordered, key)]
