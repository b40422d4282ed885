"""The runs table as the page asks for it: a window of rows, grouped and pinned, cells typed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.answers import plain
from seamount.tracking.dashboard.names import suggested_columns
from seamount.tracking.dashboard.run_data import Runs
from seamount.tracking.dashboard.spec import TableSpec
from seamount.tracking.query.filter_parser import parse_operand
from seamount.tracking.query.filters import NUMBER, TIME, Operand
from seamount.tracking.query.runs_table import sort_key, sorted_ids

MAX_GROUPS = 2_000
MAX_ROWS = 1_000
_MAX_CELL_CHARS = 500


def table_page(
    runs: Runs,
    spec: TableSpec,
    visitor: Visitor,
    *,
    offset: int = 0,
    limit: int = 100,
    fields: Sequence[str] | None = None,
    since: int = -1,
) -> dict[str, Any]:
    """Rows `offset` to `offset + limit` of the table, and what is known of all of them.

    `fields` are the attributes whose cells are sent (default: the table's columns). A row that has
    not changed after revision `since` is its id alone.
    """
    allowed = runs.visible(visitor)
    ids = ordered_ids(runs, spec, allowed)
    columns = list(spec.columns) or suggested_columns(runs, ids)
    shown = columns if fields is None else list(fields)
    cells = [parse_operand(name) for name in shown]
    groups = None
    if spec.group_by:
        ids, groups = _grouped(runs, ids, [parse_operand(name) for name in spec.group_by], cells)
    pinned = [run_id for run_id in spec.pinned_runs if run_id in runs.rows and run_id in allowed]
    page = ids[offset : offset + min(limit, MAX_ROWS)]
    values = runs.cells(cells, {*page, *pinned})
    return {
        "total": len(ids),
        "all": len(allowed),
        "cursor": runs.cursor,
        "revision": runs.revision,
        "columns": columns,
        "fields": [_described(c, values[c]) for c in cells],
        "offset": offset,
        "rows": [_row(runs, run_id, values, since) for run_id in page],
        "pinned": [_row(runs, run_id, values, since) for run_id in pinned],
        "groups": groups,
        "projects": sorted({runs.rows[run_id]["project"] for run_id in allowed}),
    }


def ordered_ids(runs: Runs, spec: TableSpec, allowed: Collection[str]) -> list[str]:
    """The ids of the runs that a table shows, in its order."""
    ids = runs.found(spec.where, spec.search, spec.project, None, allowed)
    if spec.sort is None:
        return ids[::-1] if spec.descending else ids
    operand, descending = sort_key(spec.sort)
    return sorted_ids(ids, [(operand, descending != spec.descending)], runs)


def _row(
    runs: Runs, run_id: str, values: Mapping[Operand, Mapping[str, Any]], since: int
) -> dict[str, Any] | str:
    row = runs.rows[run_id]
    if row["revision"] <= since:
        return run_id
    head = {"id": run_id, "name": row["name"], "state": row["state"], "project": row["project"]}
    return head | {"cells": [_cell(column.get(run_id)) for column in values.values()]}


def _cell(value: Any) -> Any:
    """A value as the table shows it; long texts are cut (the run's own page has them whole)."""
    if isinstance(value, dict | list):
        value = str(value)
    if isinstance(value, str) and len(value) > _MAX_CELL_CHARS:
        return value[: _MAX_CELL_CHARS - 1] + "…"
    return plain(value)


def _described(operand: Operand, values: Mapping[str, Any]) -> dict[str, str]:
    return {"name": str(operand), "kind": operand.kind, "type": _type(operand, values.values())}


def _type(operand: Operand, values: Iterable[Any]) -> str:
    """time (microseconds), duration (s), size (bytes), number, bool, text or mixed."""
    if operand.type == TIME:
        return "time"
    if operand.type == NUMBER:
        return {"duration": "duration"}.get(
            operand.name, {"file": "size"}.get(operand.kind, NUMBER)
        )
    kinds = {_kind(value) for value in values if value is not None}
    return kinds.pop() if len(kinds) == 1 else "mixed" if kinds else "text"


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else "text"


def _grouped(
    runs: Runs, ids: list[str], keys: list[Operand], cells: list[Operand]
) -> tuple[list[str], list[dict[str, Any]]]:
    """(ids group by group, the groups): groups stand where their first run stood."""
    columns = [runs.values(key, ids) for key in keys]
    members: dict[tuple[str, ...], list[str]] = {}
    for run_id in ids:
        key = tuple(repr(column.get(run_id)) for column in columns)
        members.setdefault(key, []).append(run_id)
    if len(members) > MAX_GROUPS:
        raise UserError(
            f"{len(members)} groups by {', '.join(map(str, keys))} are more than {MAX_GROUPS}: "
            "group by an attribute with fewer values, or filter first"
        )
    groups, start = [], 0
    for group in members.values():
        values = {
            str(key): _cell(column.get(group[0])) for key, column in zip(keys, columns, strict=True)
        }
        summary = [_summary(list(runs.values(cell, group).values())) for cell in cells]
        groups.append({"values": values, "start": start, "count": len(group), "cells": summary})
        start += len(group)
    return [run_id for group in members.values() for run_id in group], groups


def _summary(values: list[Any]) -> dict[str, Any]:
    """Mean, lowest and highest of numbers; of others the one value, or how many there are."""
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    finite = [float(v) for v in numbers if v - v == 0]
    if finite and len(numbers) == len(values):
        return {"mean": sum(finite) / len(finite), "min": min(finite), "max": max(finite)}
    kinds = {repr(value): value for value in values}
    return {"same": _cell(next(iter(kinds.values())))} if len(kinds) == 1 else {"kinds": len(kinds)}
