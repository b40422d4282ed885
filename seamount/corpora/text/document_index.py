"""documents.parquet, a row a line of a built corpus, read as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError

if TYPE_CHECKING:
    import pyarrow as pa

FILE_NAME = "documents.parquet"
_ROWS = 1 << 16


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """The pyarrow ParquetFile of the corpus in `url`; raises UserError where it has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = storage.join(url, FILE_NAME)
    if not storage.exists(path):
        raise UserError(f"{url} has no {FILE_NAME}: build the corpus again")
    with storage.open_read(path) as stream:
        try:
            file = pq.ParquetFile(stream)
        except pa.ArrowInvalid as error:
            raise CorruptData(f"{path} is damaged ({error}): build the corpus again") from error
        yield file


def batches(url: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Rows in the corpus's order, some at a time; memory does not grow with the corpus."""
    with opened(url) as file:
        yield from file.iter_batches(_ROWS, columns=None if columns is None else list(columns))
