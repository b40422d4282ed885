"""What a build reads: every source expanded to named inputs with a cheap fingerprint each."""

from __future__ import annotations

import hashlib
import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from seamount.core import registry, settings, storage
from seamount.core.errors import CorruptData, UserError
from seamount.core.records import Document, Quarantined, Skipped
from seamount.corpora.text import formats
from seamount.corpora.text.catalog import READERS, Catalog, filter_name, load_catalog

log = logging.getLogger("seamount")
# Items named beyond a component's aim, so that filters and deduplication leave enough.
_SLACK = 1.4
_LOCAL_INPUT_BYTES = 2_000_000
_CHUNK_BYTES = 1 << 20
_CATALOG_ENDS = (".yaml", ".yml")


@dataclass(frozen=True)
class Item:
    """One thing a local reader reads, a file or a numbered piece; `stamp` changes with it."""

    name: str
    location: str
    size_bytes: int
    stamp: str


@dataclass(frozen=True)
class Input:
    """One row of the ledger: a file of one form, or a run of items of one component's reader.

    `reader` is the form of a file, or what reads the items. `fingerprint` is cheap to take (names,
    sizes, modification times or entity tags); `parameters` are those of the reader's `read`.
    """

    name: str
    reader: str
    location: str
    size_bytes: int
    fingerprint: str
    component: str = ""
    items: tuple[Item, ...] = ()
    parameters: tuple[tuple[str, Any], ...] = ()


def reader_of(source: str) -> tuple[str, str] | None:
    """(reader, URL) of a source given as READER:URL, such as `git_tree:/srv/code`; else None."""
    name, colon, url = source.partition(":")
    if not colon or url.startswith("//") or name not in registry.available(READERS):
        return None
    if not url:
        raise UserError(f"the source {source!r} names a reader but no place: give {name}:URL")
    return name, url


def is_catalog(source: str) -> bool:
    """Whether a source is the short name of a catalog (such as `local`), or a catalog's file."""
    if source.endswith(_CATALOG_ENDS) and storage.is_local(source):
        return True
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
        raise UserError("no source given: name a URL of *.jsonl.zst or other files, or `local`")
    found: list[Input] = []
    for source in sources:
        if (raw := reader_of(source)) is not None:
            found += _of_reader(*raw, max_bytes)
        else:
            found += _of_catalog(source, max_bytes) if is_catalog(source) else _of_url(source)
    return sorted(_with_unique_names(_once(found)), key=lambda i: i.name)


def _once(inputs: list[Input]) -> list[Input]:
    """The inputs without those that stand for the very files or items of an earlier one."""
    seen: dict[Any, Input] = {}
    for one in inputs:
        key = (one.reader, one.location, one.component, one.items, one.parameters)
        if key in seen:
            log.warning("%s was given twice and is read once", one.location)
        seen.setdefault(key, one)
    return list(seen.values())


def _of_url(source: str) -> list[Input]:
    source = str(storage.local_path(source).absolute()) if storage.is_local(source) else source
    base = source.rstrip("/")
    top = PurePosixPath(base).name
    inputs = []
    for url in formats.list_inputs(source):
        below = url[len(base) :].lstrip("/")
        name = f"{top}/{below}" if below else top
        size, fingerprint = _file_fingerprint(url)
        name, form = formats.without_suffix(name), formats.form_name(url)
        inputs.append(Input(name, form, url, size, fingerprint))
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
            limit = None if aims is None else int(aims[name] * _SLACK)
            inputs += _of_component(source, name, component.reader, limit)
    if not inputs:
        raise UserError(f"no component of catalog {source!r} has a reader: give a URL as source")
    return inputs


def _of_reader(name: str, url: str, max_bytes: int | None) -> list[Input]:
    """What a reader of raw files finds at a URL, under the component it is made for."""
    module = registry.load(READERS, name, "reader")
    if not hasattr(module, "COMPONENT"):
        raise UserError(f"the reader {name!r} reads this machine's own text: it takes no URL")
    url = str(storage.local_path(url).absolute()) if storage.is_local(url) else url
    top = PurePosixPath(url.rstrip("/")).name
    return _of_component(f"{name}/{top}", module.COMPONENT, {name: {"url": url}}, max_bytes)


def _of_component(
    source: str, component: str, entry: str | dict[str, dict[str, Any]], limit_bytes: int | None
) -> list[Input]:
    name = filter_name(entry)
    given = entry[name] if isinstance(entry, dict) else {}
    module = registry.load(READERS, name, "reader")
    for_items, for_read = _accepted(module.items, given), _accepted(module.read, given)
    if unknown := sorted(set(given) - set(for_items) - set(for_read)):
        raise UserError(f"reader {name!r} has no parameter {unknown[0]!r}")
    for_read.pop("url", None)
    if hasattr(module, "COMPONENT") and "url" not in for_items:
        raise UserError(f"reader {name!r} needs the parameter 'url': the place of its files")
    found = module.items(limit_bytes, **for_items)
    return _grouped(source, component, name, found, tuple(sorted(for_read.items())))


def _accepted(function: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    """Those of the `given` parameters that a function names."""
    names = inspect.signature(function).parameters
    return {key: value for key, value in given.items() if key in names}


def _aims(catalog: Catalog, max_bytes: int | None) -> dict[str, float] | None:
    """Text wanted of each component; None where no total is stated: then all is read."""
    total = max_bytes or catalog.total_bytes
    if total is None:
        return None
    weights = catalog.weights() or {n: 1 / len(catalog.components) for n in catalog.components}
    return {name: total * weights.get(name, 0.0) for name in catalog.components}


def _grouped(
    source: str,
    component: str,
    reader: str,
    items: list[Item],
    parameters: tuple[tuple[str, Any], ...] = (),
) -> list[Input]:
    groups: list[list[Item]] = []
    room = 0
    for item in items:
        if room <= 0:
            groups.append([])
            room = _LOCAL_INPUT_BYTES
        groups[-1].append(item)
        room -= item.size_bytes
    return [
        _local_input(
            f"{source}/{component}/{number:03d}", component, reader, tuple(group), parameters
        )
        for number, group in enumerate(groups)
    ]


def _local_input(
    name: str,
    component: str,
    reader: str,
    items: tuple[Item, ...],
    parameters: tuple[tuple[str, Any], ...],
) -> Input:
    marks = [[i.name, i.size_bytes, i.stamp] for i in items]
    mark = storage.digest_of([marks, parameters] if parameters else marks)
    size = sum(i.size_bytes for i in items)
    return Input(name, reader, component, size, mark, component, items, parameters)


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
) -> Iterator[Document | Quarantined | Skipped]:
    """Every record of an input, in order; `on_bytes` sees a file's bytes as they are read, where
    `sees_all_bytes` says so.

    Where one of many items is damaged, the others are delivered first, then CorruptData is raised.
    """
    if one.reader in formats.FORMS:
        yield from formats.read(one.location, one.name, on_bytes)
        return
    module = registry.load(READERS, one.reader, "reader")
    damage: list[CorruptData] = []
    for item in one.items:
        try:
            yield from module.read(item, one.component, **dict(one.parameters))
        except CorruptData as error:
            damage.append(error)
    if damage:
        more = f" (and {len(damage) - 1} more damaged)" if len(damage) > 1 else ""
        raise type(damage[0])(f"{damage[0]}{more}") from damage[0]


def sees_all_bytes(one: Input) -> bool:
    """Whether `read` gives `on_bytes` every byte of the input, in order."""
    return one.reader in formats.FORMS and bool(formats.FORMS[one.reader].SEES_ALL_BYTES)


def content_digest(one: Input) -> str:
    """SHA-256 of all bytes an input stands for; reads them once."""
    if one.reader in formats.FORMS:
        return storage.sha256(one.location)
    digest = hashlib.sha256()
    for item in one.items:
        digest.update(item.name.encode("utf-8", "surrogateescape") + b"\0")
        for location in item.location.split("\n"):  # a group of files stands on lines of its own
            _add_content(digest, location)
    return digest.hexdigest()


def _add_content(digest: Any, location: str) -> None:
    if "://" not in location and not Path(location).is_file():
        digest.update(location.encode("utf-8", "surrogateescape"))
        return
    with storage.open_read(location) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            digest.update(chunk)
