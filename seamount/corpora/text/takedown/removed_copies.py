"""duplicates.parquet of a built corpus as a stream: which documents are copies of which survivor.

It holds ids, sources and digests, no text. Corpora built before there was such a file have none,
and so have files that are no built corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from seamount.core import storage
from seamount.corpora.text import document_index

if TYPE_CHECKING:
    import pyarrow as pa

FILE_NAME = "duplicates.parquet"


def are_known(url: str) -> bool:
    """Whether the corpus in `url` says which documents were removed as copies."""
    return storage.exists(storage.join(url, FILE_NAME))


def rows(url: str, column: str, values: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Rows (id, component, digest, source, input, bytes, kind, kept_id, similarity) whose `column`
    has one of `values`; none where the corpus has no such file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    wanted = pa.array(sorted(set(values)), pa.string())
    if len(wanted):
        yield from _rows(url, lambda batch: pc.is_in(batch[column], value_set=wanted))


def rows_where(url: str, fits: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    """Rows whose id fits."""
    import pyarrow as pa

    return _rows(
        url, lambda batch: pa.array([fits(n) for n in batch["id"].to_pylist()], pa.bool_())
    )


def _rows(url: str, chosen: Callable[[pa.RecordBatch], pa.Array]) -> Iterator[dict[str, Any]]:
    if not are_known(url):
        return
    for batch in document_index.batches(url, name=FILE_NAME):
        yield from batch.filter(chosen(batch)).to_pylist()
