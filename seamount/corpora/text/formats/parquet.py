"""Parquet with a `text` column, read in batches.

`meta` is a column of that name, as a struct or as a JSON string; without one, the other columns are
the metadata, so that `pile_set_name` and `id` may be columns. A null is a missing field.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData
from seamount.core.records import Document, Quarantined
from seamount.corpora.text import magic
from seamount.corpora.text.formats import _records
from seamount.corpora.text.formats._lines import OnBytes

SUFFIXES = (".parquet",)
SEES_ALL_BYTES = False  # it is read from its end, and not in order
_TEXT, _META = "text", "meta"
_BATCH_BYTES = 1 << 20
_MOST_ROWS = 1024
_BUFFER_BYTES = 1 << 18
_MAGIC_BYTES = 4


def read(
    url: str, name: str, on_bytes: OnBytes = None, start_line: int = 1
) -> Iterator[Document | Quarantined]:
    """Every row from `start_line` (from 1) on; `on_bytes` is never called.

    Raises CorruptData after the good rows before a damage, WrongFormat where there is no text.
    """
    with _opened(url) as file:
        columns = _columns(file.schema_arrow, url)
        row = 1
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if row + rows > start_line:
                for number, record in _of_group(file, group, row, columns, url, name):
                    if number >= start_line:
                        yield record
            row += rows


def count(url: str) -> int:
    """Rows of the file, from its footer."""
    with _opened(url) as file:
        return int(file.metadata.num_rows)


def head(url: str, name: str, limit_bytes: int) -> tuple[list[Document], int]:
    """The first documents, and their rows' share of the file's bytes."""
    documents, text, rows = [], 0, 0
    try:
        for record in read(url, name):
            rows += 1
            if isinstance(record, Document):
                documents.append(record)
                text += len(record.text.encode())
            if text >= limit_bytes:
                break
        return documents, storage.size_bytes(url) * rows // max(1, count(url))
    except CorruptData:
        return documents, storage.size_bytes(url) if documents else 0


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    with storage.open_read(url) as stream:
        magic.refuse_others(stream.read(_MAGIC_BYTES), url, magic.PARQUET)
        stream.seek(0)
        import pyarrow.parquet

        with _damage_told(url):
            file = pyarrow.parquet.ParquetFile(
                stream,
                buffer_size=_BUFFER_BYTES,  # a column is streamed, not read whole
                pre_buffer=False,
                page_checksum_verification=True,
            )
        with file:
            yield file


@contextmanager
def _damage_told(url: str) -> Iterator[None]:
    """What Arrow raises for a damaged file as CorruptData that names it."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk or the network, not the data
        what = " ".join(str(error).split())[:200]
        raise CorruptData(
            f"{url} is cut short or damaged, or no parquet ({what}); fetch or write the file again"
        ) from error


@dataclass(frozen=True)
class _Columns:
    """What is read, and whether one column or all others are the metadata."""

    names: list[str]
    has_meta: bool


def _columns(schema: Any, url: str) -> _Columns:
    import pyarrow

    if schema.names.count(_TEXT) != 1:
        shown = ", ".join(repr(n) for n in schema.names[:9])
        raise magic.WrongFormat(
            f"{url} has {schema.names.count(_TEXT)} columns called 'text' among {shown}: rename "
            "the column that holds the text"
        )
    kind = schema.field(_TEXT).type
    value = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    types = pyarrow.types
    if not any(
        is_kind(value)
        for is_kind in (types.is_string, types.is_large_string, types.is_string_view, types.is_null)
    ):
        raise magic.WrongFormat(f"{url} has a column 'text' of type {kind}: it must hold strings")
    if schema.names.count(_META) == 1:
        return _Columns([_TEXT, _META], True)
    if twice := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise magic.WrongFormat(
            f"{url} has several columns called {twice[0]!r}, of which metadata can hold one: "
            "rename the others"
        )
    return _Columns(list(schema.names), False)


def _of_group(
    file: Any, group: int, row: int, columns: _Columns, url: str, name: str
) -> Iterator[tuple[int, Document | Quarantined]]:
    """(row, record) of each row of a group whose first row is `row`."""
    for batch in _batches(file, group, columns.names, url):
        text = batch.column(batch.schema.get_field_index(_TEXT))
        rest = _Rest(batch, columns.has_meta)
        for offset in range(batch.num_rows):
            yield row + offset, _record(text[offset], rest, offset, row + offset, url, name)
        row += batch.num_rows


def _batches(file: Any, group: int, names: list[str], url: str) -> Iterator[Any]:
    meta = file.metadata.row_group(group)
    mean = max(1, meta.total_byte_size // max(1, meta.num_rows))
    rows = max(1, min(_MOST_ROWS, _BATCH_BYTES // mean))
    with _damage_told(url):
        batches = file.iter_batches(rows, [group], columns=names, use_threads=False)
    found = 0
    while True:
        with _damage_told(url):
            batch = next(batches, None)
        if batch is None:
            break
        found += batch.num_rows
        yield batch
    if found != meta.num_rows:
        raise CorruptData(
            f"{url} is damaged: row group {group} holds {found} rows where its footer says "
            f"{meta.num_rows}; fetch or write the file again"
        )


class _Rest:
    """The metadata of a batch, row by row."""

    def __init__(self, batch: Any, has_meta: bool) -> None:
        self._has_meta = has_meta
        names = batch.schema.names
        self._columns = [(n, c) for n, c in zip(names, batch.columns, strict=True) if n != _TEXT]

    def of(self, offset: int) -> Any:
        """What `meta` would be in a line; ValueError or OverflowError where it cannot be read."""
        if not self._has_meta:
            return _plain({name: column[offset].as_py() for name, column in self._columns})
        value = self._columns[0][1][offset].as_py()
        if isinstance(value, str):
            with suppress(ValueError, RecursionError):  # what is no JSON is kept as it stands
                value = json.loads(value)
        return _plain(_records.without_surrogates(value))


def _record(
    text: Any, rest: _Rest, offset: int, row: int, url: str, name: str
) -> Document | Quarantined:
    try:
        value = text.as_py()
    except UnicodeDecodeError as error:
        size = len(error.object)
        return Quarantined(url, row, f"invalid UTF-8 at byte {error.start} of the text", size)
    if value is None:
        return Quarantined(url, row, "the text is null", 0)
    try:
        return _records.document(value, rest.of(offset), row, url, name)
    except (ValueError, OverflowError, RecursionError) as error:  # a date beyond the calendar, say
        reason = f"metadata that cannot be read: {' '.join(str(error).split())[:200]}"
        return Quarantined(url, row, reason, len(value.encode()))


def _plain(value: Any) -> Any:
    """`value` as JSON can hold it, without fields that are null; times in ISO 8601."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items() if v is not None}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
