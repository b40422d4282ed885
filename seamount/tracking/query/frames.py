"""A table of plain columns that becomes Arrow, pandas or polars when asked."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.configs import as_text
from seamount.tracking.names import unicode_text
from seamount.tracking.steps import FIRST_US, LAST_US

_WIDE = 1 << 63
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass
class Frame:
    """Columns of equal length; None is "no value". `times` names those in microseconds since 1970
    UTC, which come out as moments in UTC."""

    columns: dict[str, list[Any]]
    times: frozenset[str] = field(default_factory=frozenset)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def rows(self) -> list[dict[str, Any]]:
        """A dict a row; moments as datetimes in UTC."""
        columns = {
            name: [None if v is None else moment(v) for v in values]
            if name in self.times
            else values
            for name, values in self.columns.items()
        }
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def to_arrow(self) -> Any:
        """A pyarrow.Table; a column of several types becomes text."""
        pa = _need("pyarrow", "pip install pyarrow")
        arrays = {
            name: pa.array(values, pa.timestamp("us", tz="UTC"))
            if name in self.times
            else pa.array(_uniform(values))
            for name, values in self.columns.items()
        }
        return pa.table(arrays)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        _need("pandas", "pip install pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        return _need("polars", "pip install polars").from_arrow(self.to_arrow())


def frame(names: Sequence[str], rows: list[tuple[Any, ...]], times: Sequence[str] = ()) -> Frame:
    """A frame of `rows`."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    return Frame(dict(zip(names, columns, strict=True)), frozenset(times))


def moment(time_us: int) -> datetime.datetime:
    """Microseconds since 1970 UTC as a datetime in UTC; outside the years 1 to 9999 their ends."""
    return _EPOCH + datetime.timedelta(microseconds=min(max(time_us, FIRST_US), LAST_US))


def micros(value: datetime.datetime) -> int:
    """A datetime as microseconds since 1970 UTC, exactly; one without a zone is in UTC."""
    aware = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return (aware - _EPOCH) // datetime.timedelta(microseconds=1)


def _uniform(values: list[Any]) -> list[Any]:
    """`values` of one Arrow type: numbers that mix become floats, anything else text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        try:
            return [None if v is None else float(v) for v in values]
        except OverflowError:  # an integer beyond all doubles
            kinds = {list}
    wide = kinds == {int} and any(v is not None and not -_WIDE <= v < _WIDE for v in values)
    if len(kinds) <= 1 and not kinds & {list, dict} and not wide:
        return [unicode_text(v) if type(v) is str else v for v in values]
    return [None if v is None else unicode_text(as_text(v)) for v in values]


def _need(module: str, how: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"{module} is not installed: `{how}`, or use .rows()") from error
