"""documents.parquet, a row a line of a built corpus, read as a stream (and others of its kind)."""

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
def opened(url: str, name: str = FILE_NAME) -> Iterator[Any]:
    """The pyarrow ParquetFile `name` of the corpus in `url`; raises UserError where it has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = storage.join(url, name)
    if not storage.exists(path):
        raise UserError(f"{url} has no {name}: build the corpus again")
    with storage.open_read(path) as stream:
        try:
            file = pq.ParquetFile(stream)
        except pa.ArrowInvalid as error:
            raise CorruptData(f"{path} is damaged ({error}): build the corpus again") from error
        yield file


def batches(
    url: str, columns: Sequence[str] | None = None, name: str = FILE_NAME
) -> Iterator[pa.RecordBatch]:
    """Rows in the corpus's order, some at a time; memory does not grow with the corpus."""
    with opened(url, name) as file:
        yield from file.iter_batches(_ROWS, columns=None if columns is None else list(columns))
