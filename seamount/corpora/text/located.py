"""Every document of a corpus together with where it stands: shard and line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamount.core import storage
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import formats, jsonl_zst, manifest


@dataclass(slots=True, frozen=True)
class Located:
    """A document, the shard it is in (below the corpus; else the file's URL), its line from 1."""

    document: Document
    shard: str
    line: int


def located_documents(url: str) -> Iterator[Located]:
    """Documents of a built corpus in its order, or of files of any form; one block in memory.

    Quarantined lines of foreign files are passed over (`corpus check` tells them). Raises
    CorruptData where a shard of a built corpus is not as it was written.
    """
    if not manifest.is_corpus(url):
        for file in formats.list_inputs(url):
            yield from in_file(file, file)
        return
    for shard in manifest.load_manifest(url)["shards"]:
        yield from in_shard(url, shard["path"])


def in_shard(url: str, shard: str, start_line: int = 1) -> Iterator[Located]:
    """Documents of one shard of a built corpus from `start_line` on."""
    path = storage.join(url, shard)
    for line, record in enumerate(
        jsonl_zst.read_documents(path, start_line=start_line), start_line
    ):
        if isinstance(record, Quarantined):
            raise manifest.changed(path, f"line {record.line}: {record.reason}")
        yield Located(record, shard, line)


def in_file(path: str, shard: str) -> Iterator[Located]:
    """Documents of a foreign file."""
    for record in formats.read(path):
        if not isinstance(record, Quarantined):
            yield Located(record, shard, int(record.source.rpartition(":")[2]))
