"""A split as one long row of lines over its shards, read from any line to any other.

A built corpus says in its manifest how many lines each shard has; the files of another one (such as
the Pile's released layout train/00.jsonl.zst, val.jsonl.zst, test.jsonl.zst) are counted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import formats, manifest
from seamount.corpora.text.split import SPLITS


@dataclass(frozen=True)
class Shard:
    """One file and the number of its lines or rows; in a built corpus each one is a document."""

    url: str
    lines: int
    built: bool = False


def shards_of(url: str, split: str | None) -> tuple[Shard, ...]:
    """The shards of one split in their order; of all files where `split` is None."""
    if split is not None and split not in SPLITS:
        raise UserError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
    if manifest.is_corpus(url):
        found = manifest.load_manifest(url)["shards"]
        mine = [s for s in found if split in (None, s["split"])]
        return tuple(Shard(storage.join(url, s["path"]), s["documents"], True) for s in mine)
    files = [f for f in formats.list_inputs(url) if split is None or split_of(f, url) == split]
    if not files:
        raise UserError(
            f"{url} has no {split}/*.jsonl.zst or other form, and no {split}.jsonl.zst: check it"
        )
    return tuple(Shard(file, formats.count(file)) for file in files)


def split_of(file: str, url: str) -> str:
    """The split that a file's place below `url` says: train/..., val.jsonl.zst."""
    below = file.removeprefix(url.rstrip("/")).lstrip("/")
    return formats.without_suffix(below.partition("/")[0])


def share(total: int, number: int, of: int) -> tuple[int, int]:
    """First and last line (excluded) of part `number` of `of` equal parts (they differ by 1)."""
    return total * number // of, total * (number + 1) // of


def read_lines(
    shards: Sequence[Shard], start: int, stop: int
) -> Iterator[Document | Quarantined | None]:
    """What stands on lines `start` to `stop` (excluded), shards in a row; None for a blank line.

    Shards and blocks outside the range are not parsed. Raises CorruptData where the shard of a
    built corpus is not as it was written.
    """
    before = 0
    for shard in shards:
        first, last = max(0, start - before), min(shard.lines, stop - before)
        if first < last:
            for record in islice(_from_line(shard.url, first + 1), last - first):
                if shard.built and not isinstance(record, Document):
                    raise manifest.changed(shard.url, "a line is missing or damaged")
                yield record
        before += shard.lines


def _from_line(url: str, first: int) -> Iterator[Document | Quarantined | None]:
    """Exactly one value a line, from line `first` (counted from 1) on."""
    line = first
    for record in formats.read(url, start_line=first):
        while line < _line_of(record):
            yield None
            line += 1
        yield record
        line += 1
    while True:
        yield None


def _line_of(record: Document | Quarantined) -> int:
    if isinstance(record, Quarantined):
        return record.line
    return int(record.source.rpartition(":")[2])
