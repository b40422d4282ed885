"""The values that filters and tables look at, fetched from the index one column at a time."""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any

import orjson

from seamount.tracking.configs import as_text
from seamount.tracking.query.filters import Operand
from seamount.tracking.query.histories import split_rank, values_of
from seamount.tracking.query.patterns import Texts, one_line
from seamount.tracking.store.index import Index
from seamount.tracking.store.inherited import joined_summaries
from seamount.tracking.store.lineage import forks_among, joins, metric_keys

# Looking each run up by its key costs less than a scan as long as most rows are of other names.
_IDS = "WITH ids AS MATERIALIZED (SELECT value AS run_id FROM json_each(?1)) "
_WIDE = float(1 << 63)
_TEXT_BATCH = 500


class IndexSource:
    """Columns of the runs in `rows` (rows of the runs table, by id).

    `wanted` names operands that will be asked for: configs among them are read in one pass.
    """

    def __init__(
        self, index: Index, rows: Mapping[str, dict[str, Any]], wanted: Iterable[Operand] = ()
    ) -> None:
        self.index, self.rows = index, rows
        self._configs = {operand.name for operand in wanted if operand.kind == "config"}
        self._known: dict[Operand, tuple[frozenset[str], dict[str, Any]]] = {}

    def values(self, operand: Operand, run_ids: Collection[str]) -> Mapping[str, Any]:
        """Run id -> value, for those of `run_ids` that have one."""
        asked = frozenset(run_ids)
        known, found = self._known.get(operand, (frozenset(), {}))
        if not asked <= known:
            for each, values in self._fetch(operand, asked).items():
                self._known[each] = (asked, values)
            found = self._known[operand][1]
        return {run_id: found[run_id] for run_id in asked & found.keys()}

    def _fetch(self, operand: Operand, ids: frozenset[str]) -> dict[Operand, dict[str, Any]]:
        if operand.kind == "config":
            names = self._configs | {operand.name}
            columns = config_columns(self.index, ids, names)
            return {Operand("config", name): columns[name] for name in names}
        if operand.kind == "run":
            return {operand: _metadata(self.rows, ids, operand.name)}
        if operand.kind in ("tag", "file"):
            return {operand: _named(self.index, operand, ids)}
        return {operand: _aggregates(self.index, operand, ids)}

    def texts(self, run_ids: Collection[str]) -> Iterator[tuple[str, Texts]]:
        """Every run's searchable texts by field, some hundred runs at a time."""
        ordered = sorted(run_ids)
        for start in range(0, len(ordered), _TEXT_BATCH):
            yield from self._text_batch(ordered[start : start + _TEXT_BATCH])

    def _text_batch(self, ids: list[str]) -> Iterator[tuple[str, Texts]]:
        fields = _Fields(self.index, self.rows, ids)
        for run_id in ids:
            yield run_id, partial(fields.lines, run_id)


def _metadata(
    rows: Mapping[str, dict[str, Any]], ids: Collection[str], name: str
) -> dict[str, Any]:
    special: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "created": lambda row: row["created_us"],
        "ended": lambda row: row["ended_us"],
        "duration": duration_s,
        "error": error_text,
    }
    read = special[name] if name in special else itemgetter(name)
    found = ((run_id, read(rows[run_id])) for run_id in ids if run_id in rows)
    return {run_id: value for run_id, value in found if value is not None}


def duration_s(row: Mapping[str, Any]) -> float | None:
    """Seconds from creation to end, or to now while it runs; None where the end is not known."""
    end = row["ended_us"]
    if end is None and row["state"] == "Running":
        end = time.time_ns() // 1000
    return None if end is None else (end - row["created_us"]) / 1e6


def error_text(row: Mapping[str, Any]) -> str | None:
    """`TYPE: message` of the exception that ended a run."""
    error = json.loads(row["error"]) if row["error"] else None
    return f"{error['type']}: {error['message']}" if error else None


def _named(index: Index, operand: Operand, ids: Collection[str]) -> dict[str, Any]:
    query = {
        "tag": "SELECT run_id, value FROM ids JOIN tags t USING (run_id)"
        " WHERE t.key = ?2 AND t.value IS NOT NULL",
        "file": "SELECT run_id, size_bytes FROM ids JOIN files f USING (run_id)"
        " WHERE f.name = ?2 ORDER BY f.time_us",
    }[operand.kind]
    return dict(index.db.execute(_IDS + query, (_json(ids), operand.name)))


def config_columns(
    index: Index, ids: Collection[str], names: Collection[str]
) -> dict[str, dict[str, Any]]:
    """Config name -> run id -> value in the newest snapshot."""
    columns: dict[str, dict[str, Any]] = {name: {} for name in names}
    for run_id, values in each_config(index, ids, names):
        for name in columns.keys() & values.keys():
            columns[name][run_id] = values[name]
    return columns


def each_config(
    index: Index, ids: Collection[str], names: Collection[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(run id, values) of every logged config, a run's own in order: later ones override.

    `names` are those that will be looked at (None: all).
    """
    query = (
        "SELECT run_id, data FROM ids JOIN configs c USING (run_id)"
        " ORDER BY c.run_id, c.time_us, c.segment_id"
    )
    for run_id, data in index.db.execute(_IDS + query, (_json(ids),)):
        yield run_id, _json_object(data, names)


def _json_object(data: str, names: Collection[str] | None) -> dict[str, Any]:
    """By orjson, unless it cannot read it (NaN) or made a double of a very long integer."""
    try:
        values = orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)
    seen = values.values() if names is None else map(values.get, names)
    if any(type(value) is float and not -_WIDE < value < _WIDE for value in seen):
        return json.loads(data)
    return values


def _aggregates(index: Index, operand: Operand, ids: Collection[str]) -> dict[str, Any]:
    """An aggregate of a metric, under its very name or of the rank after its `@`."""
    found: dict[str, Any] = {}
    forks = forks_among(index, ids)
    for name, rank in split_rank(operand.name):
        for run_id in forks - found.keys() if joins(name) else ():
            value = _of_fork(index, operand, run_id, name, rank)
            if value is not None:
                found[run_id] = value
        own = (i for i in ids if i not in found and not (i in forks and joins(name)))
        rows = _summaries(index, name, rank, list(own))
        for run_id, attempts in rows.items():
            value = _aggregate(index, operand, run_id, name, rank, attempts)
            if value is not None:
                found[run_id] = value
    return found


def _of_fork(index: Index, operand: Operand, run_id: str, name: str, rank: int) -> float | None:
    """An aggregate over what the fork's ancestors lend it and its own points."""
    kind = operand.kind
    restarted = len(_summaries(index, name, rank, [run_id]).get(run_id, ())) > 1
    if kind == "last" or (kind in ("min", "max", "count") and not restarted):
        for found in joined_summaries(index, run_id, (name, rank)):
            return {"last": found.last_value, "min": found.min_value, "max": found.max_value,
                    "count": found.points}[kind]  # fmt: skip
        return None
    steps, values = values_of(index, run_id, name, rank)
    return aggregate(kind, steps, values, operand.step) if values else None


def _summaries(
    index: Index, name: str, rank: int, ids: Collection[str]
) -> dict[str, list[tuple[Any, ...]]]:
    """Run id -> (points, last, min, max) of each attempt that has points, the newest last."""
    query = (
        "SELECT run_id, points, last_value, min_value, max_value FROM ids JOIN series s"
        " USING (run_id) WHERE s.name = ?2 AND s.rank = ?3 AND s.points > 0"
        " ORDER BY s.attempt"
    )
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for run_id, *summary in index.db.execute(_IDS + query, (_json(ids), name, rank)):
        found[run_id].append(tuple(summary))
    return found


def _aggregate(
    index: Index, operand: Operand, run_id: str, name: str, rank: int, attempts: list[Any]
) -> float | None:
    kind = operand.kind
    points, last, lowest, highest = attempts[-1]
    if kind == "last":
        return math.nan if last is None else last
    if len(attempts) == 1 and kind in ("min", "max", "count"):
        return {"min": lowest, "max": highest, "count": points}[kind]
    # Several attempts: only the points that the history shows count.
    steps, values = values_of(index, run_id, name, rank)
    return aggregate(kind, steps, values, operand.step)


def aggregate(
    kind: str, steps: list[float], values: list[float], step: float | None = None
) -> float | None:
    """`kind` of a history given by step; finite values alone make min, max and mean."""
    if kind == "count":
        return len(values)
    if kind == "last":
        return values[-1] if values else None
    if kind == "at":
        here = [value for at, value in zip(steps, values, strict=True) if at == step]
        return here[-1] if here else None
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return None
    if kind == "mean":
        return math.fsum(finite) / len(finite)
    return min(finite) if kind == "min" else max(finite)


class _Fields:
    """Searchable texts of some runs, each field fetched for all of them when first asked for.

    Fetched texts hold line ends only between two texts.
    """

    def __init__(self, index: Index, rows: Mapping[str, dict[str, Any]], ids: list[str]) -> None:
        self._index, self._rows, self._ids = index, rows, ids
        self._known: dict[str, Mapping[str, list[str]]] = {}
        self._whole: dict[str, bytes | None] = {}

    def lines(self, run_id: str, field: str | None) -> bytes | None:
        """The texts of one field, or of all of them."""
        if field is not None:
            return _joined(self._texts(run_id, field))
        if run_id not in self._whole:
            fields = ("run", "tag", "config", "metric", "file")
            self._whole[run_id] = _joined([t for f in fields for t in self._texts(run_id, f)])
        return self._whole[run_id]

    def _texts(self, run_id: str, field: str) -> list[str]:
        if field not in self._known:
            self._known[field] = self._fetch(field)
        return self._known[field].get(run_id, [])

    def _fetch(self, field: str) -> Mapping[str, list[str]]:
        kind, dot, name = field.partition(".")
        if dot:
            column = IndexSource(self._index, self._rows).values(Operand(kind, name), self._ids)
            return {run_id: [_value_text(value)] for run_id, value in column.items()}
        wide: dict[str, Callable[[], Mapping[str, list[str]]]] = {
            "tag": self._tags, "config": self._configs, "run": self._run,
            "metric": lambda: self._names("series"), "file": lambda: self._names("files"),
        }  # fmt: skip
        if field in wide:
            return wide[field]()
        found = _metadata(self._rows, self._ids, field)
        return {run_id: [one_line(value)] for run_id, value in found.items()}

    def _run(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name in ("run_id", "name", "project", "owner", "state", "error"):
            for run_id, value in _metadata(self._rows, self._ids, name).items():
                found[run_id].append(one_line(value))
        return found

    def _tags(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        query = "SELECT run_id, key, value FROM ids JOIN tags USING (run_id) WHERE value NOT NULL"
        for run_id, key, value in self._index.db.execute(_IDS + query, (_json(self._ids),)):
            found[run_id] += [key, f"{key}={one_line(value)}"]
        return found

    def _configs(self) -> dict[str, list[str]]:
        merged: dict[str, dict[str, Any]] = defaultdict(dict)
        for run_id, values in each_config(self._index, self._ids):
            merged[run_id].update(values)
        return {
            run_id: [f"{name}\n{name}={_value_text(v)}" for name, v in values.items()]
            for run_id, values in merged.items()
        }

    def _names(self, table: str) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        some = " WHERE points > 0" if table == "series" else ""
        query = f"SELECT DISTINCT run_id, name FROM ids JOIN {table} USING (run_id){some}"
        for run_id, name in self._index.db.execute(_IDS + query, (_json(self._ids),)):
            found[run_id].append(name)
        for run_id in forks_among(self._index, self._ids) if some else ():
            found[run_id] = sorted({name for name, _ in metric_keys(self._index, run_id)})
        return found


def _value_text(value: Any) -> str:
    """A config's value on one line; the common types by the short way."""
    if type(value) is float and value - value == 0:
        return repr(value)
    return one_line(value if type(value) is str else as_text(value))


def _joined(texts: list[str]) -> bytes | None:
    return "\n".join(texts).encode("utf-8", "replace") if texts else None


def _json(ids: Collection[str]) -> str:
    return json.dumps(list(ids))
