"""A uniform sample of the documents of a built corpus or of files of any form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text import formats, located, manifest
from seamount.corpora.text.normalise import normalise

MOST_CHARACTERS = 50_000


@dataclass(frozen=True)
class Sample:
    """Documents in their order, normalised as a build does; out of how many; how many were cut."""

    documents: list[Document]
    of: int
    cut: int


def sample(url: str, size: int, seed: int) -> Sample:
    """`size` documents at random; of a text the first MOST_CHARACTERS characters.

    Of a built corpus only the shards that hold one of them are read; other files are read whole.
    Raises UserError where there is none.
    """
    if size < 1:
        raise UserError(f"documents is {size}: give a number above 0")
    random = Random(f"sample\0{seed}")
    if manifest.is_corpus(url):
        total = manifest.load_manifest(url)["documents"]
        places = sorted(random.sample(range(total), min(size, total)))
        found = list(_at(url, places))
    else:
        formats.list_inputs(url)  # a mistaken address is told before anything is read
        found, total = _reservoir(url, size, random)
    if not found:
        raise UserError(f"{url} holds no document: give files that hold some")
    texts = [normalise(document.text) for document in found]
    kept = [
        replace(document, text=text[:MOST_CHARACTERS])
        for document, text in zip(found, texts, strict=True)
    ]
    return Sample(kept, total, sum(len(text) > MOST_CHARACTERS for text in texts))


def _at(url: str, places: list[int]) -> Iterator[Document]:
    """Documents of a built corpus by their place in it, from 0, sorted."""
    before = at = 0
    for shard in manifest.load_manifest(url)["shards"]:
        end = before + shard["documents"]
        if at < len(places) and places[at] < end:
            first = places[at] - before + 1
            for one in located.in_shard(url, shard["path"], first):
                if before + one.line - 1 == places[at]:
                    yield one.document
                    at += 1
                    if at == len(places) or places[at] >= end:
                        break
        before = end


def _reservoir(url: str, size: int, random: Random) -> tuple[list[Document], int]:
    kept: dict[int, tuple[int, Document]] = {}
    number = -1
    for number, one in enumerate(located.located_documents(url)):
        slot = number if number < size else random.randrange(number + 1)
        if slot < size:
            kept[slot] = number, one.document
    return [document for _, document in sorted(kept.values(), key=lambda v: v[0])], number + 1
