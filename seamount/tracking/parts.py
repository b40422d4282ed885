"""Parts: Parquet files of a run's points, sorted by series and step, never changed once named.

Columns: series (its id in index.db), name, rank, attempt, segment (id in index.db), sequence, step
(int64, rounded down), real (the step as a double where it was logged as one), time_us (microseconds
since 1970 UTC), value. Row groups carry statistics, so that one series is read without the others.
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
from seamount.tracking.columns import Rows, joined
from seamount.tracking.snapshots import Label

ROW_GROUP_ROWS = 1 << 16

_SCHEMA = pa.schema([
    ("series", pa.int64()), ("name", pa.dictionary(pa.int32(), pa.string())),
    ("rank", pa.int32()), ("attempt", pa.int32()), ("segment", pa.int64()),
    ("sequence", pa.int64()), ("step", pa.int64()), ("real", pa.float64()),
    ("time_us", pa.int64()), ("value", pa.float64()),
])  # fmt: skip
_REPEATED = ["series", "name", "rank", "attempt", "segment"]
_COUNTED = dict.fromkeys(("sequence", "step", "time_us"), "DELTA_BINARY_PACKED")


def to_table(rows: Rows, labels: dict[int, Label]) -> Any:
    """`rows`, which are in order, as an Arrow table; `labels` says what each series id stands for.

    A value that is NaN stays NaN; `real` is null where a step was an int.
    """
    starts = np.flatnonzero(np.diff(rows.series, prepend=rows.series[:1] - 1))
    counts = np.diff(starts, append=len(rows))
    here = [labels[number] for number in rows.series[starts].tolist()]
    names = pa.DictionaryArray.from_arrays(
        np.repeat(np.arange(len(here), dtype=np.int32), counts),
        pa.array([label[0] for label in here], pa.string()),
    )
    rank, attempt = (
        np.repeat(np.array([label[place] for label in here], np.int32), counts) for place in (1, 2)
    )
    real = pa.array(rows.real, mask=np.isnan(rows.real))
    columns = [rows.series, names, rank, attempt, rows.segment, rows.sequence, rows.step, real,
               rows.time_us, rows.value]  # fmt: skip
    return pa.table(columns, schema=_SCHEMA)


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
    rows = Rows(*(_array(table.column(field.name)) for field in fields(Rows)))
    if wanted is None or not len(rows):
        return rows
    return joined([rows.take(slice(*_range(rows.series, each))) for each in wanted])


def _array(column: Any) -> Any:
    """A column as numpy, NaN where it is null; `to_numpy` would import pandas first (a second)."""
    if column.null_count:
        column = column.fill_null(float("nan"))
    return np.from_dlpack(column.combine_chunks())


def _range(series: Any, number: int) -> tuple[int, int]:
    first, end = np.searchsorted(series, [number, number + 1])
    return int(first), int(end)


def _may_hold(file: Any, group: int, wanted: Any) -> bool:
    statistics = file.metadata.row_group(group).column(0).statistics
    if wanted is None or statistics is None or not statistics.has_min_max:
        return True
    return bool(((wanted >= statistics.min) & (wanted <= statistics.max)).any())
