"""Files of git repositories, or of a plain tree: one document a file of under 100,000 characters.

Of a repository (a checkout; any number of them below the URL) the tracked files are taken, as its
index names them; of a plain tree all files but hidden ones. Links, binary files (a NUL near the
start, or a suffix that says so) and longer files are passed over. `meta` keeps path, language by
suffix, and the licence that the LICENSE file of the repository, or of the tree, speaks of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from seamount.core import storage
from seamount.core.errors import SeamountError, UserError
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text.inputs import Item
from seamount.corpora.text.readers import _archives, _encodings, _files, _git_index, _licences

COMPONENT = "Github"
# The Pile's code tested characters where its paper says 100 kB.
MOST_CHARACTERS = 100_000
_MOST_BYTES_A_CHARACTER = 4
_BINARY = re.compile(
    r"\.(?:7z|a|avi|bin|bmp|bz2|class|db|dll|dylib|egg|eot|exe|flac|gif|gz|ico|iso|jar|jpe?g|lib|mo"
    r"|mov|mp[34]|np[yz]|o|obj|ogg|otf|parquet|pdf|pickle|pkl|png|py[cd]|rar|so|sqlite|tar|tgz|tiff?"
    r"|ttf|wasm|wav|web[mp]|whl|woff2?|xlsx?|xz|zip|zst)$",
    re.IGNORECASE,
)
_GONE = "gone"


def items(limit_bytes: int | None, *, url: str) -> list[Item]:
    """Tracked files of each repository below `url`, and files that belong to none."""
    if all(storage.exists(storage.join(url, name)) for name in ("HEAD", "objects", "refs")):
        raise UserError(f"{url!r} is a bare repository: give a checkout of it")
    found = _files.everything(url, hidden=True, enters=lambda folder: "/.git/" not in folder)
    roots = _repositories(found)
    items = [i for i in found if _is_plain(i, roots)]
    for root, (index, base) in roots.items():
        items += _tracked(root, index, base, found)
    return _files.named(_files.take(sorted(items, key=lambda i: i.name), limit_bytes), url)


def _repositories(found: list[Item]) -> dict[str, tuple[str, str]]:
    """Name of each folder with a git index -> URLs of the index and of the folder.

    In a worktree or submodule `.git` is a file that says where the index is.
    """
    roots = {}
    for item in found:
        for ending in ("/.git/index", "/.git"):
            if item.name.endswith(ending):
                index = item.location if ending != "/.git" else _git_index.of_pointer(item.location)
                if index:
                    base = item.location.removesuffix(ending)
                    roots[item.name.removesuffix(ending)] = index, base
    return roots


def _is_plain(item: Item, roots: dict[str, tuple[str, str]]) -> bool:
    parts = item.name.split("/")
    if any(part.startswith(".") for part in parts[1:]):
        return False
    return not any("/".join(parts[:n]) in roots for n in range(1, len(parts)))


def _tracked(root: str, index: str, base: str, found: list[Item]) -> Iterator[Item]:
    """Items of the files that an index names; those that cannot be read carry why in `stamp`."""
    here = {i.name: i for i in found if i.name.startswith(f"{root}/")}
    for path, kind in _git_index.entries(index):
        name = _files.printable(f"{root}/{path}")
        item = here.get(name)
        if item is None or kind != _git_index.FILE:
            reason = _GONE if kind == _git_index.FILE else kind
            yield Item(name, storage.join(base, path), 0, reason)
        else:
            yield item


def read(item: Item, component: str) -> Iterator[Document | Quarantined | Skipped]:
    """One document: the whole file."""
    name = PurePosixPath(item.name)
    if item.stamp == _GONE:
        yield Quarantined(item.location, 1, "tracked, but not in the checkout", item.size_bytes)
    elif item.stamp == _git_index.SUBMODULE:
        yield Skipped(item.location, "submodule", item.size_bytes)
    elif item.stamp == _git_index.LINK or item.stamp.startswith(_files.LINK):
        yield Skipped(item.location, "link", item.size_bytes)
    elif _BINARY.search(name.name):
        yield Skipped(item.location, "binary by its suffix", item.size_bytes)
    elif item.size_bytes >= MOST_CHARACTERS * _MOST_BYTES_A_CHARACTER:
        yield Skipped(item.location, f"{MOST_CHARACTERS:,} characters or more", item.size_bytes)
    else:
        yield _document(item, component, name)


def _document(item: Item, component: str, name: PurePosixPath) -> Document | Quarantined | Skipped:
    try:
        data = storage.read_bytes(item.location)
    except SeamountError as error:
        return Quarantined(item.location, 1, str(error), item.size_bytes)
    found = _encodings.text_of(_archives.File(item.name, item.location, data))
    if isinstance(found, Skipped):
        return found
    text, meta = found
    if len(text) >= MOST_CHARACTERS:
        return Skipped(item.location, f"{MOST_CHARACTERS:,} characters or more", len(data))
    licence = _licence(
        item.location.removesuffix(str(PurePosixPath(*name.parts[1:]))), item.location
    )
    more = {"path": "/".join(name.parts[1:]), "suffix": name.suffix, "licence": licence}
    return Document(
        text, component, item.name, item.location, {**meta, **{k: v for k, v in more.items() if v}}
    )


def _licence(top: str, location: str) -> str:
    """What the nearest LICENSE file speaks of, from the file's folder up to the tree's top."""
    folder = location.rpartition("/")[0]
    while len(folder) >= len(top.rstrip("/")) and folder:
        if found := _licence_in(folder):
            return found
        folder = folder.rpartition("/")[0]
    return ""


@lru_cache(maxsize=4096)
def _licence_in(folder: str) -> str:
    fs, path = storage.filesystem(folder)
    try:
        names = sorted(str(n).rpartition("/")[2] for n in fs.ls(path, detail=False))
        for name in names:
            if _licences.is_licence(name) and fs.isfile(f"{path}/{name}"):
                with fs.open(f"{path}/{name}", "rb") as stream:
                    return _licences.spdx(stream.read(_licences.ENOUGH_BYTES))
    except OSError:
        return ""
    return ""
