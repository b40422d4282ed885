"""What a build reads: every source expanded to named inputs with a cheap fingerprint each."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from seamount.core import registry, settings, storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import jsonl_zst
from seamount.corpora.text.catalog import READERS, Catalog, load_catalog

JSONL_ZST = "jsonl_zst"
# Items named beyond a component's aim, so that filters and deduplication leave enough.
_SLACK = 1.4
_LOCAL_INPUT_BYTES = 2_000_000


@dataclass(frozen=True)
class Item:
    """One thing a local reader reads, a file or a numbered piece; `stamp` changes with it."""

    name: str
    location: str
    size_bytes: int
    stamp: str


@dataclass(frozen=True)
class Input:
    """One row of the ledger: a jsonl.zst file, or a run of items of one component's reader.

    `fingerprint` is cheap to take (names, sizes, modification times or entity tags).
    """

    name: str
    reader: str
    location: str
    size_bytes: int
    fingerprint: str
    component: str = ""
    items: tuple[Item, ...] = ()


def is_catalog(source: str) -> bool:
    """Whether a source is the short name of a catalog (such as `local`) and not a path."""
    roots = [root / "datasets" / source for root in settings.declaration_roots()]
    if "/" in source or not any((root / "catalog.yaml").is_file() for root in roots):
        return False
    readers = any(c.reader for c in load_catalog(source).components.values())
    return readers or not storage.exists(source)


def expand(sources: tuple[str, ...], max_bytes: int | None) -> list[Input]:
    """Every input of `sources`, sorted by name; raises UserError for a source that is not there.

    `max_bytes` bounds what a catalog's readers name; files are always taken whole.
    """
    if not sources:
        raise UserError("no source given: name a URL of *.jsonl.zst, or `local`")
    found: list[Input] = []
    for source in sources:
        found += _of_catalog(source, max_bytes) if is_catalog(source) else _of_url(source)
    return sorted(_with_unique_names(found), key=lambda i: i.name)


def _of_url(source: str) -> list[Input]:
    source = str(storage.local_path(source).absolute()) if storage.is_local(source) else source
    base = source.rstrip("/")
    top = PurePosixPath(base).name
    inputs = []
    for url in jsonl_zst.list_inputs(source):
        below = url[len(base) :].lstrip("/")
        name = f"{top}/{below}" if below else top
        size, fingerprint = _file_fingerprint(url)
        name = name.removesuffix(jsonl_zst.SUFFIX)
        inputs.append(Input(name, JSONL_ZST, url, size, fingerprint))
    return inputs


def _file_fingerprint(url: str) -> tuple[int, str]:
    fs, path = storage.filesystem(url)
    info: dict[str, Any] = fs.info(path)
    mark = next((info[k] for k in ("ETag", "etag", "mtime", "created") if info.get(k)), "")
    return int(info["size"]), f"{info['size']}-{mark}"


def _of_catalog(source: str, max_bytes: int | None) -> list[Input]:
    catalog = load_catalog(source)
    aims = _aims(catalog, max_bytes)
    inputs = []
    for name, component in catalog.components.items():
        if component.reader is not None:
            module = registry.load(READERS, component.reader, "reader")
            items = module.items(int(aims[name] * _SLACK))
            inputs += _grouped(source, name, component.reader, items)
    if not inputs:
        raise UserError(f"no component of catalog {source!r} has a reader: give a URL as source")
    return inputs


def _aims(catalog: Catalog, max_bytes: int | None) -> dict[str, float]:
    total = max_bytes or catalog.total_bytes
    if total is None:
        raise UserError(f"catalog {catalog.name!r} has readers but no total_bytes: add it")
    weights = catalog.weights() or {n: 1 / len(catalog.components) for n in catalog.components}
    return {name: total * weights.get(name, 0.0) for name in catalog.components}


def _grouped(source: str, component: str, reader: str, items: list[Item]) -> list[Input]:
    groups: list[list[Item]] = []
    room = 0
    for item in items:
        if room <= 0:
            groups.append([])
            room = _LOCAL_INPUT_BYTES
        groups[-1].append(item)
        room -= item.size_bytes
    return [
        _local_input(f"{source}/{component}/{number:03d}", component, reader, tuple(group))
        for number, group in enumerate(groups)
    ]


def _local_input(name: str, component: str, reader: str, items: tuple[Item, ...]) -> Input:
    mark = storage.digest_of([[i.name, i.size_bytes, i.stamp] for i in items])
    size = sum(i.size_bytes for i in items)
    return Input(name, reader, component, size, mark, component, items)


def _with_unique_names(inputs: list[Input]) -> list[Input]:
    """Two folders of the same name give inputs of the same name: number all but the first."""
    seen: Counter[str] = Counter()
    unique = []
    for one in sorted(inputs, key=lambda i: (i.name, i.location)):
        seen[one.name] += 1
        again = seen[one.name]
        unique.append(one if again == 1 else replace(one, name=f"{one.name}~{again}"))
    return unique


def read(
    one: Input, on_bytes: Callable[[bytes], None] | None = None
) -> Iterator[Document | Quarantined]:
    """Every record of an input, in order; `on_bytes` sees the bytes of a file as they are read."""
    if one.reader == JSONL_ZST:
        yield from jsonl_zst.read_documents(one.location, one.name, on_bytes)
        return
    module = registry.load(READERS, one.reader, "reader")
    for item in one.items:
        yield from module.read(item, one.component)


def content_digest(one: Input) -> str:
    """SHA-256 of all bytes an input stands for; reads them once."""
    if one.reader == JSONL_ZST:
        return storage.sha256(one.location)
    digest = hashlib.sha256()
    for item in one.items:
        digest.update(item.name.encode("utf-8", "surrogateescape") + b"\0")
        path = Path(item.location)
        digest.update(path.read_bytes() if path.is_file() else item.location.encode())
    return digest.hexdigest()
