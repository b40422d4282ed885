"""Pairs of a build's own: near copies it removed, compared in full with what it kept instead.

It needs the texts that were removed, so a corpus built with --keep-dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import xxhash

from seamount.core import storage
from seamount.corpora.text import document_index, located, manifest
from seamount.corpora.text.audit.dropped import DROPPED, records_of
from seamount.corpora.text.audit.proportions import share
from seamount.corpora.text.dedupe import exact_jaccard

DUPLICATES = "duplicates.parquet"
_PAIRS = 1_000


def removed_pairs(
    url: str, seed: int, limits: Iterable[float], worst: int
) -> dict[str, Any] | None:
    """A sample of the near copies that the build of the corpus in `url` removed.

    Result: removed (near copies in all), checked, without_text (drawn, but one of the two texts is
    not there any more), below {limit: share}, worst [{similarity, ids, components, source}]; None
    where duplicates.parquet or the dropped texts are missing. Memory: the texts of 1,000 pairs.
    """
    needed = (manifest.FILE_NAME, DUPLICATES, DROPPED)
    if not all(storage.exists(storage.join(url, name)) for name in needed):
        return None
    rows, total = _drawn(url, Random(f"removed\0{seed}"))
    copies, kept = _dropped_texts(url, rows)
    kept = {**kept, **_kept_texts(url, {row["kept_id"] for row in rows})}
    limits = list(limits)
    below: Counter[float] = Counter()
    found = []
    for row in rows:
        left, right = copies.get(row["digest"]), kept.get(row["kept_id"])
        if left is None or right is None:
            continue
        similarity = exact_jaccard.jaccard(left, right)
        below.update(limit for limit in limits if similarity < limit)
        found.append((similarity, row["id"], row))
    return {
        "removed": total,
        "checked": len(found),
        "without_text": len(rows) - len(found),
        "below": {str(limit): share(below[limit], len(found)) for limit in limits},
        "worst": [
            {"similarity": similarity, "ids": [row["kept_id"], name], "source": row["source"]}
            for similarity, name, row in sorted(found, key=lambda f: f[:2])[:worst]
        ],
    }


def _drawn(url: str, random: Random) -> tuple[list[dict[str, Any]], int]:
    """Near copies at random, and how many there are."""
    kept: list[dict[str, Any]] = []
    number = 0
    for batch in document_index.batches(url, name=DUPLICATES):
        for place, kind in enumerate(batch["kind"].to_pylist()):
            if kind != "near":
                continue
            slot = number if number < _PAIRS else random.randrange(number + 1)
            if slot < _PAIRS:
                kept[slot : slot + 1] = batch.slice(place, 1).to_pylist()
            number += 1
    return kept, number


def _dropped_texts(url: str, rows: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """Texts of the removed ones by digest, and, by id, of survivors that found no room."""
    digests, names = {row["digest"] for row in rows}, {row["kept_id"] for row in rows}
    removed, left_out = {}, {}
    for file in storage.list_files(storage.join(url, DROPPED), (".jsonl.gz",)):
        for record in records_of(file):
            text, meta = record["text"], record["meta"]
            digest = xxhash.xxh3_128_hexdigest(text.encode("utf-8", "replace"))
            if digest in digests:
                removed[digest] = text
            if meta.get("id") in names and "mixture" in meta["dropped"]:
                left_out[meta["id"]] = text
    return removed, left_out


def _kept_texts(url: str, names: set[str]) -> dict[str, str]:
    return {one.document.id: one.document.text for one in _standing(url, names)}


def _standing(url: str, names: set[str]) -> Iterator[located.Located]:
    lines: dict[str, set[int]] = {}
    for batch in document_index.batches(url, ("id", "shard", "line")):
        columns = (batch[column].to_pylist() for column in ("id", "shard", "line"))
        for name, shard, line in zip(*columns, strict=True):
            if name in names:
                lines.setdefault(shard, set()).add(line)
    for shard, here in lines.items():
        last = max(here)
        for one in located.in_shard(url, shard):
            if one.line in here:
                yield one
            if one.line == last:
                break
