"""Find documents of a corpus by id or by text; nothing is held but the matches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.corpora.text import document_index, located, manifest
from seamount.corpora.text.takedown import removed_copies

By = Literal["auto", "id", "prefix", "regex", "text", "words"]
KINDS: tuple[By, ...] = ("auto", "id", "prefix", "regex", "text", "words")
_AROUND = 60
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Found:
    """A document and where it stands; `excerpt` is the place that was found, or the beginning."""

    id: str
    component: str
    source: str
    shard: str
    line: int
    split: str
    bytes: int
    excerpt: str


def find(
    url: str, query: str, by: By = "auto", ignore_case: bool = False, limit: int | None = None
) -> Iterator[Found]:
    """Documents that fit `query`, in the corpus's order, at most `limit`.

    `id`, `prefix` and `regex` (searched) look at ids in documents.parquet and read shards only to
    show a text; `text` is a piece of the text as it stands, `words` are words that must all be in
    it in any order and case; these read all shards. `auto`: the id, else the text (which is not
    looked for where the id is known as that of a removed copy). For files that are no built corpus
    everything is read.
    """
    if not query:
        raise UserError("nothing to look for: give an id or a piece of text")
    if limit is not None and limit < 1:
        raise UserError(f"limit is {limit}: give a number above 0")
    yield from islice(_found(url, query, by, ignore_case), limit)


def removed(
    url: str, query: str, by: By = "auto", ignore_case: bool = False
) -> Iterator[dict[str, Any]]:
    """Rows of duplicates.parquet whose id fits: documents that the build removed as copies.

    None for a search by text, and where the corpus has no such file.
    """
    if by not in ("text", "words"):
        fits = _fits(query, "id" if by == "auto" else by, ignore_case)
        yield from removed_copies.rows_where(url, fits)


def _found(url: str, query: str, by: By, ignore_case: bool) -> Iterator[Found]:
    if by == "auto":
        first = None
        for first in _by_id(url, query, "id", ignore_case):
            yield first
        if first is not None or next(removed(url, query, by, ignore_case), None) is not None:
            return
        by = "text"
    if by in ("text", "words"):
        yield from _by_text(url, _matcher(query, by, ignore_case))
    else:
        yield from _by_id(url, query, by, ignore_case)


def _by_id(url: str, query: str, by: By, ignore_case: bool) -> Iterator[Found]:
    fits = _fits(query, by, ignore_case)
    if not manifest.is_corpus(url):
        for one in located.located_documents(url):
            if fits(one.document.id):
                yield _shown(one, _Where(one.document.source, ""), 0)
        return
    for row in rows_where(url, fits):
        yield _read(url, row)


def rows_where(url: str, fits: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    """Rows of documents.parquet whose id fits; no shard is read."""
    manifest.load_manifest(url)
    for batch in document_index.batches(url):
        for place, name in enumerate(batch.column("id").to_pylist()):
            if fits(name):
                yield batch.slice(place, 1).to_pylist()[0]


def _fits(query: str, by: By, ignore_case: bool) -> Callable[[str], bool]:
    if by == "regex":
        pattern = _compiled(query, ignore_case)
        return lambda name: pattern.search(name) is not None
    wanted = query.casefold() if ignore_case else query
    fold = str.casefold if ignore_case else str
    if by == "prefix":
        return lambda name: fold(name).startswith(wanted)
    return lambda name: fold(name) == wanted


def _compiled(query: str, ignore_case: bool) -> re.Pattern[str]:
    try:
        return re.compile(query, re.IGNORECASE if ignore_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise UserError(f"{query!r} is no regular expression: {error}") from error


@dataclass(frozen=True)
class _Where:
    source: str
    split: str


def _read(url: str, row: dict[str, Any]) -> Found:
    one = next(located.in_shard(url, row["shard"], row["line"]), None)
    if one is None or one.document.id != row["id"]:
        raise manifest.changed(
            storage.join(url, row["shard"]), f"line {row['line']} is not {row['id']!r}"
        )
    return _shown(one, _Where(row["source"], row["split"]), 0)


def _shown(one: located.Located, where: _Where, place: int) -> Found:
    document = one.document
    start = max(0, place - _AROUND)
    return Found(
        document.id,
        document.component,
        where.source,
        one.shard,
        one.line,
        where.split,
        len(document.text.encode()),
        document.text[start : place + 2 * _AROUND],
    )


def _matcher(query: str, by: By, ignore_case: bool) -> Callable[[str], int]:
    """Gives the character at which a text fits, -1 where it does not."""
    if by == "words":
        words = {word.casefold() for word in _WORD.findall(query)}
        if not words:
            raise UserError(f"{query!r} holds no word: a word is a run of letters and digits")
        return lambda text: _place_of_words(text, words)
    if ignore_case:
        pattern = re.compile(re.escape(query), re.IGNORECASE)
        return lambda text: found.start() if (found := pattern.search(text)) else -1
    return lambda text: text.find(query)


def _place_of_words(text: str, words: set[str]) -> int:
    folded = text.casefold()
    if not all(word in folded for word in words):  # cheap, and most texts end here
        return -1
    first, left = -1, set(words)
    for found in _WORD.finditer(text):
        word = found[0].casefold()
        if word in left:
            first = found.start() if first < 0 else first
            left.discard(word)
            if not left:
                return first
    return -1


def _by_text(url: str, place_in: Callable[[str], int]) -> Iterator[Found]:
    if not manifest.is_corpus(url):
        for one in located.located_documents(url):
            if (place := place_in(one.document.text)) >= 0:
                yield _shown(one, _Where(one.document.source, ""), place)
        return
    rows = _rows(url)
    splits = {s["path"]: s["split"] for s in manifest.load_manifest(url)["shards"]}
    for one in located.located_documents(url):
        source, name = next(rows, ("", None))
        if name != one.document.id:
            raise manifest.changed(
                storage.join(url, one.shard),
                f"line {one.line} is {one.document.id!r}, documents.parquet says {name!r}",
            )
        if (place := place_in(one.document.text)) >= 0:
            yield _shown(one, _Where(source, splits[one.shard]), place)


def _rows(url: str) -> Iterator[tuple[str, str]]:
    """(source, id) of every line in the corpus's order."""
    for batch in document_index.batches(url, ("source", "id")):
        columns = (batch.column(name).to_pylist() for name in ("source", "id"))
        yield from zip(*columns, strict=True)
