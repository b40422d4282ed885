"""The runs of a store that a filter selects, sorted, as run objects and as a table."""

from __future__ import annotations

import fnmatch
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.names import check_run_id
from seamount.tracking.query.attributes import IndexSource, each_config
from seamount.tracking.query.evaluate import Source, operands, select
from seamount.tracking.query.filter_parser import parse_filter, parse_operand
from seamount.tracking.query.filters import TIME, And, Column, Expression, Operand, Test, checked
from seamount.tracking.query.frames import Frame, micros, moment
from seamount.tracking.query.patterns import compile_pattern
from seamount.tracking.query.run_view import RunView
from seamount.tracking.store.folder import Store, open_store
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import forks_among, metric_keys

Where = str | Expression | None
COLUMNS = ("run_id", "project", "name", "owner", "state", "created", "ended", "duration")


@dataclass
class RunTable:
    """Selected runs in order: a sequence of `RunView`, and a table of the columns asked for."""

    views: list[RunView]
    columns: list[Operand]
    total: int  # how many the filter selects, whatever the limit

    def __len__(self) -> int:
        return len(self.views)

    def __iter__(self) -> Iterator[RunView]:
        return iter(self.views)

    def __getitem__(self, place: int) -> RunView:
        return self.views[place]

    @property
    def frame(self) -> Frame:
        """The columns as plain lists."""
        table = {str(o): [view.known[str(o)] for view in self.views] for o in self.columns}
        times = frozenset(str(operand) for operand in self.columns if operand.type == TIME)
        for name in times:
            table[name] = [None if value is None else micros(value) for value in table[name]]
        return Frame(table, times)

    def rows(self) -> list[dict[str, Any]]:
        """A dict a run; moments as datetimes in UTC."""
        names = [str(operand) for operand in self.columns]
        return [{name: view.known[name] for name in names} for view in self.views]

    def to_arrow(self) -> Any:
        """A pyarrow.Table."""
        return self.frame.to_arrow()

    def to_pandas(self) -> Any:
        """A pandas.DataFrame."""
        return self.frame.to_pandas()

    def to_polars(self) -> Any:
        """A polars.DataFrame."""
        return self.frame.to_polars()


def runs(
    where: Where = None,
    *,
    store: str | Path | None = None,
    project: str | None = None,
    search: str | None = None,
    sort: str | Sequence[str] = "-created",
    limit: int | None = None,
    offset: int = 0,
    columns: Sequence[str | Column] = COLUMNS,
    deleted: bool = False,
) -> RunTable:
    """The runs that `where` (a filter, as text or made by hand) selects, from all projects.

    `project` is a project's name, or else an extended regex; `search` an extended regex over all
    metadata. `sort` names attributes, `-` before one (or ` desc` after it) for the highest first;
    runs without the value come last. `columns` are attributes; `config.*`, `tag.*` and `last(*)`
    stand for all that match. Raises QueryError for what cannot be read.
    """
    filter_ = combined(where, search)
    keys = [sort_key(each) for each in ([sort] if isinstance(sort, str) else sort)]
    wanted = [column_operand(column) for column in columns]
    if offset < 0 or (limit is not None and limit < 0):
        raise UserError(f"limit {limit} and offset {offset} must not be negative")
    with opened(store) as (found, index):
        rows = {row["run_id"]: row for row in _in_project(index, project, deleted)}
        source = IndexSource(index, rows, [*operands(filter_), *(key for key, _ in keys)])
        ids = list(rows) if filter_ is None else _kept(rows, select(filter_, rows, source))
        ordered = sorted_ids(ids, keys, source)
        page = ordered[offset : None if limit is None else offset + limit]
        return _table(found, index, rows, page, wanted, len(ids))


def open_run(run_id: str, store: str | Path | None = None) -> RunView:
    """One run; raises UserError where there is none."""
    opened_store = open_store(store, create=False)
    opened_store.refresh(check_run_id(run_id))
    with opened_store.index() as index:
        return RunView(opened_store, index.run(run_id))


@contextmanager
def opened(store: str | Path | None) -> Iterator[tuple[Store, Index]]:
    """The store and its index, with all taken in that was logged so far."""
    found = open_store(store, create=False)
    found.refresh()
    with found.index() as index:
        yield found, index


def combined(where: Where, search: str | None) -> Expression | None:
    """One filter of a filter (or its text) and a search pattern."""
    parts: list[Expression] = []
    if where is not None:
        parts.append(parse_filter(where) if isinstance(where, str) else where)
    if search is not None:
        parts.append(checked(Test(Operand("any"), "matches", search)))
    return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


def sort_key(text: str) -> tuple[Operand, bool]:
    """(attribute, whether the highest comes first) of `-last(loss)` or `last(loss) desc`."""
    name, _, direction = text.strip().rpartition(" ")
    if name and direction.lower() in ("asc", "desc"):
        return parse_operand(name), direction.lower() == "desc"
    descending = text.strip().startswith("-")
    return parse_operand(text.strip().removeprefix("-")), descending


def column_operand(column: str | Column) -> Operand:
    """The operand a column names."""
    return column.operand if isinstance(column, Column) else parse_operand(column)


def project_test(pattern: str, known: Iterable[str]) -> Callable[[str], bool]:
    """Whether a project is meant: by its very name, or else by an extended regex."""
    if pattern in set(known):
        return pattern.__eq__
    return compile_pattern(pattern).matches


def _in_project(index: Index, project: str | None, deleted: bool) -> list[dict[str, Any]]:
    rows = index.runs(deleted=deleted)
    if project is None:
        return rows
    meant = project_test(project, (row["project"] for row in rows))
    verdicts = {name: meant(name) for name in {row["project"] for row in rows}}
    return [row for row in rows if verdicts[row["project"]]]


def _kept(rows: Mapping[str, Any], selected: set[str]) -> list[str]:
    return [run_id for run_id in rows if run_id in selected]


def sorted_ids(ids: list[str], keys: list[tuple[Operand, bool]], source: Source) -> list[str]:
    """By the first key, equal ones by the next, then newest first; no value comes last."""
    for operand, descending in reversed(keys):
        values = source.values(operand, ids)
        known = ((run_id, _sortable(value)) for run_id, value in values.items())
        plain = {run_id: key for run_id, key in known if key is not None}
        there = [run_id for run_id in ids if run_id in plain]
        there.sort(key=plain.__getitem__, reverse=descending)
        ids = there + [run_id for run_id in ids if run_id not in plain]
    return ids


def _sortable(value: Any) -> tuple[int, Any] | None:
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, int | float):
        return None if math.isnan(value) else (1, value)
    return 2, str(value)


def _table(
    store: Store,
    index: Index,
    rows: Mapping[str, dict[str, Any]],
    page: list[str],
    wanted: list[Operand],
    total: int,
) -> RunTable:
    columns = _expanded(index, page, wanted)
    source = IndexSource(index, rows, columns)
    views = {run_id: RunView(store, rows[run_id]) for run_id in page}
    for operand in columns:
        values, name, time = source.values(operand, page), str(operand), operand.type == TIME
        for run_id, view in views.items():
            value = values.get(run_id)
            view.known[name] = moment(value) if time and value is not None else value
    return RunTable(list(views.values()), columns, total)


def _expanded(index: Index, page: list[str], wanted: list[Operand]) -> list[Operand]:
    """`wanted` with each `*` replaced by the names it matches among the page's runs."""
    found: dict[Operand, None] = {}
    for operand in wanted:
        names = [operand.name]
        if "*" in operand.name:
            every = _names(index, operand.kind, page)
            names = sorted(fnmatch.filter(every, operand.name.replace("[", "[[]")))
        found |= dict.fromkeys(Operand(operand.kind, name, operand.step) for name in names)
    return list(found)


def _names(index: Index, kind: str, page: list[str]) -> set[str]:
    if kind == "config":
        return {name for _, values in each_config(index, page) for name in values}
    table, column = {"tag": ("tags", "key"), "file": ("files", "name")}.get(
        kind, ("series", "name")
    )
    some = " AND points > 0" if table == "series" else ""
    ids = "(SELECT value FROM json_each(?))"
    query = f"SELECT DISTINCT {column} FROM {table} WHERE run_id IN {ids}{some}"
    found = {name for (name,) in index.db.execute(query, (json.dumps(page),))}
    for fork in forks_among(index, page) if some else ():
        found |= {name for name, _ in metric_keys(index, fork)}
    return found
