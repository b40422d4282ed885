"""What each rule took away, by example: dropped documents by reason, and changes by edit."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from seamount.core import registry, storage
from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.catalog import FILTERS

DROPPED, EDITED = "dropped", "edited"
_EXCERPT = 300


def sample_dropped(
    corpus_url: str, per_rule: int = 3
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Up to `per_rule` documents of each reason and each edit, chosen by a hash of their ids.

    Result: dropped {reason: [{id, component, characters, passage, excerpt}]}, where `passage` is
    what the reason speaks of (empty where it speaks of the whole) and `excerpt` the beginning;
    edits {name: [{id, component, bytes_removed, diff}]}, `diff` as `diff -u` writes it. Raises
    UserError for a corpus built without --keep-dropped.
    """
    folders = [storage.join(corpus_url, name) for name in (DROPPED, EDITED)]
    files = [
        url
        for folder in folders
        if storage.exists(folder)
        for url in storage.list_files(folder, (".jsonl.gz",))
    ]
    if not files:
        raise UserError(
            f"{corpus_url} holds no dropped documents: build it again with --keep-dropped"
        )
    dropped: dict[str, _Few] = defaultdict(lambda: _Few(per_rule))
    edits: dict[str, _Few] = defaultdict(lambda: _Few(per_rule))
    for url in files:
        for record in records_of(url):
            if "diff" in record:
                edits[record["edit"]].offer(record["id"], record)
            else:
                meta = record["meta"]
                dropped[meta["dropped"]].offer(str(meta.get("id", "")), record)
    return {
        "dropped": {
            reason: [_described(record, reason) for record in few.taken()]
            for reason, few in sorted(dropped.items())
        },
        "edits": {
            name: [{k: v for k, v in r.items() if k != "edit"} for r in few.taken()]
            for name, few in sorted(edits.items())
        },
    }


class _Few:
    """The records whose ids have the lowest hashes: a fair choice that does not depend on order."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[bytes, str, dict[str, Any]]] = []

    def offer(self, name: str, record: dict[str, Any]) -> None:
        digest = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
        self._kept.append((digest, name, record))
        self._kept.sort(key=lambda entry: entry[:2])
        del self._kept[self._most :]

    def taken(self) -> list[dict[str, Any]]:
        return [record for _, _, record in self._kept]


def records_of(url: str) -> Iterator[dict[str, Any]]:
    """The records of one *.jsonl.gz; raises CorruptData where it is damaged."""
    try:
        with storage.open_read(url) as stream, gzip.GzipFile(fileobj=stream) as lines:
            for line in lines:
                yield json.loads(line)
    except (EOFError, ValueError, gzip.BadGzipFile) as error:
        raise CorruptData(f"{url} is damaged ({error}): build the corpus again") from error


def _described(record: dict[str, Any], reason: str) -> dict[str, Any]:
    text = record["text"]
    return {
        "id": record["meta"].get("id", ""),
        "component": record["meta"].get("pile_set_name", ""),
        "characters": len(text),
        "passage": _passage(text, reason)[:_EXCERPT],
        "excerpt": text[:_EXCERPT],
    }


def _passage(text: str, reason: str) -> str:
    rule, _, phrase = reason.partition(": ")
    if rule not in registry.available(FILTERS):
        return ""
    module = registry.load(FILTERS, rule, "filter")
    return module.passage(text, phrase) if hasattr(module, "passage") else ""


def as_text(samples: dict[str, dict[str, list[dict[str, Any]]]]) -> str:
    """The samples for people to read."""
    parts: list[str] = []
    for reason, records in samples["dropped"].items():
        parts.append(f"== dropped, {reason}")
        for record in records:
            parts.append(
                f"-- {record['component']}, {record['id']}, {record['characters']} characters"
            )
            if record["passage"]:
                parts.append(f"   because of: {record['passage']!r}")
            parts.append(f"   {record['excerpt']!r}")
    for name, records in samples["edits"].items():
        parts.append(f"== edited, {name}")
        for record in records:
            parts += (
                f"-- {record['component']}, {record['bytes_removed']} bytes removed",
                record["diff"],
            )
    return "\n".join(parts)
