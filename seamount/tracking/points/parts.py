"""Parts: Parquet files of a run's points, sorted by series and step, never changed once named.

Columns: series (its id in index.db), name, rank, attempt, segment (id in index.db), sequence, step
(int64, rounded down), real (the step as a double where it was logged as one, else NaN), time_us
(microseconds since 1970 UTC), value, preview (NaN for a final point, else how far it was, 0 to 1,
or -1). Row groups carry statistics, so that one series is read without the others.
"""

from __future__ import annotations

import errno
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seamount.core.errors import CorruptData
from seamount.tracking.points.columns import Rows, joined
from seamount.tracking.points.snapshots import Label

ROW_GROUP_ROWS = 1 << 16

_SCHEMA = pa.schema([
    ("series", pa.int64()), ("name", pa.dictionary(pa.int32(), pa.string())),
    ("rank", pa.int32()), ("attempt", pa.int32()), ("segment", pa.int64()),
    ("sequence", pa.int64()), ("step", pa.int64()), ("real", pa.float64()),
    ("time_us", pa.int64()), ("value", pa.float64()), ("preview", pa.float64()),
])  # fmt: skip
_REPEATED = ["series", "name", "rank", "attempt", "segment", "real", "preview"]
_COUNTED = dict.fromkeys(("sequence", "step", "time_us"), "DELTA_BINARY_PACKED")


def to_table(rows: Rows, labels: dict[int, Label]) -> Any:
    """`rows`, which are in order, as an Arrow table; `labels` says what a series id stands for."""
    starts = np.flatnonzero(np.diff(rows.series, prepend=rows.series[:1] - 1))
    counts = np.diff(starts, append=len(rows))
    here = [labels[number] for number in rows.series[starts].tolist()]
    which = np.repeat(np.arange(len(here), dtype=np.int32), counts)
    rank, attempt = (np.array([label[n] for label in here], np.int32)[which] for n in (1, 2))
    columns = [rows.series, which, rank, attempt, rows.segment, rows.sequence, rows.step, rows.real,
               rows.time_us, rows.value, rows.preview]  # fmt: skip
    arrays = [_arrow(column) for column in columns]
    arrays[1] = pa.DictionaryArray.from_arrays(arrays[1], _texts([label[0] for label in here]))
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


# Arrow is given and asked for plain memory: its own conversions import pandas first (a second).
def _arrow(values: Any) -> Any:
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(
        kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))]
    )


def _texts(values: list[str]) -> Any:
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _numpy(column: Any) -> Any:
    return np.from_dlpack(column.combine_chunks())


def empty_table() -> Any:
    """A table of no points."""
    return _SCHEMA.empty_table()


def write_part(path: Path, rows: Rows, labels: dict[int, Label]) -> int:
    """Write `rows` to a new file and on to the disk; returns its size in bytes."""
    with path.open("xb") as out:
        pq.write_table(
            to_table(rows, labels), out, row_group_size=ROW_GROUP_ROWS, compression="zstd",
            use_dictionary=_REPEATED, column_encoding={"value": "BYTE_STREAM_SPLIT"} | _COUNTED,
        )  # fmt: skip
        out.flush()
        os.fsync(out.fileno())
        return out.tell()


def read_part(path: Path, series: list[int] | None = None) -> Rows:
    """The rows of these series (of all, if None) in the order of the file.

    Raises FileNotFoundError where it is gone (merged into another), CorruptData if it is damaged.
    """
    wanted = None if series is None else np.array(sorted(series), np.int64)
    try:
        with pq.ParquetFile(path) as file:
            groups = [g for g in range(file.num_row_groups) if _may_hold(file, g, wanted)]
            table = file.read_row_groups(groups, columns=[f.name for f in fields(Rows)])
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "a part is gone", str(path)) from error
    except (OSError, pa.ArrowException) as error:
        raise CorruptData(f"{path} cannot be read: {error}") from error
    rows = Rows(*(_numpy(table.column(field.name)) for field in fields(Rows)))
    if wanted is None or not len(rows):
        return rows
    return joined([rows.take(slice(*_range(rows.series, each))) for each in wanted])


def _range(series: Any, number: int) -> tuple[int, int]:
    first, end = np.searchsorted(series, [number, number + 1])
    return int(first), int(end)


def _may_hold(file: Any, group: int, wanted: Any) -> bool:
    statistics = file.metadata.row_group(group).column(0).statistics
    if wanted is None or statistics is None or not statistics.has_min_max:
        return True
    return bool(((wanted >= statistics.min) & (wanted <= statistics.max)).any())
