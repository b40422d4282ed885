"""The three splits of a built corpus, and their documents in order."""

from __future__ import annotations

from collections.abc import Iterator

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import jsonl_zst, manifest

SPLITS = ("train", "val", "test")


def read_split(corpus_url: str, split: str) -> Iterator[Document]:
    """Documents of one split of a built corpus, in order.

    Raises UserError for an unknown split and CorruptData where a shard is not as it was written.
    """
    if split not in SPLITS:
        raise UserError(f"unknown split {split!r}: one of {', '.join(SPLITS)}")
    for shard in manifest.load_manifest(corpus_url)["shards"]:
        if shard["split"] != split:
            continue
        url = storage.join(corpus_url, shard["path"])
        for record in jsonl_zst.read_documents(url):
            if isinstance(record, Quarantined):
                raise manifest.changed(url, f"line {record.line}: {record.reason}")
            yield record
