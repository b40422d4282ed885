"""Attributes in Neptune's sense, typed columns over runs, read through the store's own queries.

An attribute of a name may be there in several types, one column each: a config "x" of an int in one
run and a text in another, and a metric "x" beside both.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from seamount.tracking.compat.neptune_query.filters import KNOWN_TYPES, BaseAttributeFilter
from seamount.tracking.compat.neptune_query.system import SYSTEM, TYPES, System
from seamount.tracking.compat.neptune_query.types import Histogram
from seamount.tracking.configs import as_text
from seamount.tracking.query.attributes import IndexSource, each_config
from seamount.tracking.query.evaluate import Texts
from seamount.tracking.query.filters import Operand
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import forks_among, joins, known_ancestors, metric_keys

SINGLE = ("float", "int", "string", "bool", "datetime", "string_set")
SERIES_TABLES = {
    "string_series": "strings", "histogram_series": "histograms", "file_series": "file_series",
}  # fmt: skip
# A moment as log_configs writes it: ISO 8601 in UTC. A text that reads so is taken for one.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?\+00:00", re.A)
CELLS = {
    "strings": "value",
    "histograms": "type, edges_and_values",
    "file_series": "step, path, size_bytes, mime",
}
Definition = tuple[str, str]  # (name, type)


def kind_of(value: Any) -> str | None:
    """The type that a config's value has at Neptune; None for no value."""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "string_set"
    if isinstance(value, str):
        return "datetime" if _MOMENT.fullmatch(value) else "string"
    plain = {bool: "bool", int: "int", float: "float", type(None): None}
    return plain.get(type(value), "string")


def _single(value: Any) -> Any:
    kind = kind_of(value)
    if kind == "datetime":
        return datetime.datetime.fromisoformat(value)
    if kind == "string_set":
        return set(value)
    return as_text(value) if kind == "string" else value


class Attributes:
    """Columns of the runs in `rows`; a Source of values for the filters of seamount's queries.

    Operands are Operand(type, name). Values are those of tables: sets, datetimes, the last value of
    a series (texts as they are, histograms as types.Histogram, files as the index has them).
    """

    def __init__(self, index: Index, rows: Mapping[str, dict[str, Any]]) -> None:
        self.index, self.rows = index, rows
        self.system = System(index, rows)
        self._source = IndexSource(index, rows)
        self._columns: dict[Definition, tuple[frozenset[str], dict[str, Any]]] = {}

    def expect(self, names: Iterable[str]) -> None:
        """Configs of these names will be asked for: they are read in one pass."""
        wanted = [Operand("config", name) for name in names]
        self._source = IndexSource(self.index, self.rows, wanted)

    def values(self, operand: Operand, run_ids: Collection[str]) -> Mapping[str, Any]:
        """Run id -> value as a filter compares it: sets as lists."""
        found = self.column((operand.name, operand.kind), run_ids)
        return {i: sorted(v) if isinstance(v, set) else v for i, v in found.items()}

    def texts(self, run_ids: Collection[str]) -> Iterator[tuple[str, Texts]]:
        """Not asked for: no filter of Neptune's looks at all metadata."""
        return self._source.texts(run_ids)

    def column(self, wanted: Definition, run_ids: Collection[str]) -> dict[str, Any]:
        """Run id -> value, for those of `run_ids` that have the attribute."""
        asked = frozenset(run_ids)
        known, found = self._columns.get(wanted, (frozenset(), {}))
        if not asked <= known:
            found = self._fetch(*wanted, asked)
            self._columns[wanted] = (asked, found)
        return {run_id: found[run_id] for run_id in asked & found.keys()}

    def kinds(self, name: str, run_ids: Collection[str]) -> list[str]:
        """The types that attributes of this name have."""
        return [kind for kind in KNOWN_TYPES if self.column((name, kind), run_ids)]

    def definitions(
        self, wanted: BaseAttributeFilter, run_ids: Collection[str]
    ) -> list[Definition]:
        """Every attribute of these runs that a filter wants, sorted."""
        leaves = list(wanted.leaves())
        found: set[Definition] = set()
        if all(isinstance(names, list) for names, _ in leaves):
            given = {(n, kind) for names, kinds in leaves for n in names for kind in kinds}  # type: ignore[union-attr]
            self.expect({name for name, kind in given if kind in SINGLE})
            found = {each for each in given if self.column(each, run_ids)}
        else:
            found = {each for each in self._every(run_ids) if _meant(each, leaves)}
            self.expect({name for name, kind in found if kind in SINGLE})
        return sorted(found)

    def _every(self, run_ids: Collection[str]) -> set[Definition]:
        found = {(n, k) for n, k in TYPES.items() if self.column((n, k), run_ids)}
        shapes: set[Definition] = set()
        for _, values in each_config(self.index, run_ids):
            shapes |= {(n, k) for n, v in values.items() if (k := kind_of(v))}
        # A config logged anew with another type leaves a definition without values.
        self.expect({name for name, _ in shapes})
        found |= {each for each in shapes - found if self.column(each, run_ids)}
        for tags in self.system.named_tags(run_ids).values():
            found |= {(name, _tag_kind(value)) for name, value in tags.items()}
        for kind, table in {"float_series": "series", "file": "files", **SERIES_TABLES}.items():
            found |= {(name, kind) for name in self._names(table, run_ids)}
        return found | {each for i in forks_among(self.index, run_ids) for each in self._lent(i)}

    def _names(self, table: str, run_ids: Collection[str]) -> list[str]:
        ids = "(SELECT value FROM json_each(?))"
        some = " AND points > 0" if table == "series" else ""  # not of previews alone
        query = f"SELECT DISTINCT name FROM {table} WHERE run_id IN {ids}{some}"
        return [name for (name,) in self.index.db.execute(query, (json.dumps(list(run_ids)),))]

    def _lent(self, run_id: str) -> Iterator[Definition]:
        """Series that only a fork's ancestors logged."""
        for name, _ in metric_keys(self.index, run_id):
            yield name, "float_series"
        for ancestor in known_ancestors(self.index, run_id):
            for kind, table in SERIES_TABLES.items():
                query = f"SELECT DISTINCT name FROM {table} WHERE run_id = ? AND step <= ?"
                rows = self.index.db.execute(query, (ancestor.run_id, ancestor.up_to))
                yield from ((name, kind) for (name,) in rows if joins(name))

    def _fetch(self, name: str, kind: str, ids: frozenset[str]) -> dict[str, Any]:
        if kind in SINGLE:
            return self._singles(name, kind, ids)
        if kind == "float_series":
            return self._metric(name, ids)
        table = SERIES_TABLES.get(kind, "files")
        return self._newest_files(name, ids) if kind == "file" else self._lasts(table, name, ids)

    def _singles(self, name: str, kind: str, ids: frozenset[str]) -> dict[str, Any]:
        logged = self._source.values(Operand("config", name), ids)
        found = {i: _single(v) for i, v in logged.items() if kind_of(v) == kind}
        if name.startswith(SYSTEM):
            own = self.system.column(name, ids) if TYPES.get(name) == kind else {}
            return found | own if name in _OURS else own | found
        for run_id, tags in self.system.named_tags(ids - logged.keys()).items():
            if name in tags and _tag_kind(tags[name]) == kind:
                found[run_id] = tags[name] if kind == "string" else tags[name] == "true"
        return found

    def _metric(self, name: str, ids: frozenset[str]) -> dict[str, Any]:
        """The last value of rank 0, or of the lowest rank that logged a metric of this name."""
        found = dict(self._source.values(Operand("last", name), ids))
        missing = ids - found.keys()
        ranks = lowest_ranks(self.index, "series", name, missing)
        for run_id in forks_among(self.index, missing):
            lent = [rank for other, rank in metric_keys(self.index, run_id) if other == name]
            ranks |= {run_id: min(lent)} if lent else {}
        for rank in set(ranks.values()) - {0}:
            of_rank = {run_id for run_id, lowest in ranks.items() if lowest == rank}
            found |= self._source.values(Operand("last", f"{name}@{rank}"), of_rank)
        return found

    def _lasts(self, table: str, name: str, ids: frozenset[str]) -> dict[str, Any]:
        found = {}
        for run_id, rank in lowest_ranks(self.index, table, name, ids).items():
            found[run_id] = self._last(table, run_id, name, rank, math.inf)
        for run_id in forks_among(self.index, ids - found.keys()) if joins(name) else ():
            for ancestor in known_ancestors(self.index, run_id):
                for rank in lowest_ranks(self.index, table, name, [ancestor.run_id]).values():
                    cell = self._last(table, ancestor.run_id, name, rank, ancestor.up_to)
                    if cell is not None:
                        found.setdefault(run_id, cell)
        return found

    def _last(self, table: str, run_id: str, name: str, rank: int, up_to: float) -> Any:
        query = (
            f"SELECT {CELLS[table]} FROM {table} WHERE run_id = ? AND name = ? AND rank = ?"
            " AND step <= ? ORDER BY step DESC, time_us DESC, segment_id DESC, sequence DESC"
        )
        found = self.index.db.execute(f"{query} LIMIT 1", (run_id, name, rank, up_to)).fetchone()
        return None if found is None else cell(table, run_id, found)

    def _newest_files(self, name: str, ids: frozenset[str]) -> dict[str, Any]:
        query = (
            "SELECT run_id, name, size_bytes, mime FROM files WHERE name = ?2 AND run_id IN"
            " (SELECT value FROM json_each(?1)) ORDER BY time_us, segment_id"
        )
        rows = self.index.db.execute(query, (json.dumps(list(ids)), name))
        return {run_id: (None, f"{run_id}/{path}", size, mime) for run_id, path, size, mime in rows}


def lowest_ranks(index: Index, table: str, name: str, ids: Collection[str]) -> dict[str, int]:
    """Run id -> the lowest rank that logged `name`."""
    query = (
        f"SELECT run_id, min(rank) FROM {table} WHERE name = ?2 AND run_id IN"
        " (SELECT value FROM json_each(?1)) GROUP BY run_id"
    )
    return dict(index.db.execute(query, (json.dumps(list(ids)), name)))


def cell(table: str, run_id: str, row: tuple[Any, ...]) -> Any:
    """The columns CELLS of a row: a text, a types.Histogram, or what a File is made of."""
    if table == "strings":
        return row[0]
    if table == "histograms":
        return Histogram(row[0], *json.loads(row[1]))
    step, path, size_bytes, mime = row
    return step, f"{run_id}/{path}", size_bytes, mime


_OURS = ("sys/tags", "sys/group_tags", "sys/custom_run_id", "sys/name", "sys/experiment/name",
         "sys/experiment/is_head")  # fmt: skip


def _tag_kind(value: str) -> str:
    return "bool" if value in ("true", "false") else "string"


def _meant(each: Definition, leaves: Iterable[Any]) -> bool:
    name, kind = each
    return any(
        kind in kinds and (name in names if isinstance(names, list) else names(name))
        for names, kinds in leaves
    )
