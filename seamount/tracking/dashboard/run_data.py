"""The runs' attributes in memory, column by column, kept up to date by the index's revisions.

A page asks the same columns again and again, while few runs change: what was read once is kept, and
only runs that changed since are read anew. All of it can be made again; nothing is lost with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.freshness import Freshness
from seamount.tracking.dashboard.spec import RunSelection
from seamount.tracking.query.attributes import IndexSource, each_config
from seamount.tracking.query.evaluate import select
from seamount.tracking.query.filters import Operand
from seamount.tracking.query.patterns import Texts
from seamount.tracking.query.runs_table import combined, project_test
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index

_FORGET_S = 120.0
_MAX_TEXT_BYTES = 256 << 20
_NEVER_KEPT = ("duration",)  # grows by itself


class RunData:
    """The runs of one store for one server; use `with data.now() as runs`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.fresh = Freshness(store)
        self._lock = threading.RLock()
        self._runs = Runs({}, "", -1)

    @contextmanager
    def now(self, max_age_s: float = 1.0) -> Iterator[Runs]:
        """What is known at this moment, for the length of the block and one thread at a time."""
        self.fresh.ensure(max_age_s)
        with self._lock, self.store.index() as index:
            self._runs = self._runs.updated(index)
            self._runs.index = index
            yield self._runs

    def warm(self) -> None:
        """Read ahead what the first filter will ask for."""
        columns: dict[str, dict[str, Any]] = {}
        with self.now() as runs:
            ids, index_id, revision = list(runs.rows), runs.index_id, runs.revision
        with self.store.index() as index:  # beside whoever asks meanwhile
            _add_configs(columns, index, ids)
        with self.now() as runs:
            if runs.index_id == index_id:
                runs.adopt_configs(columns, revision)


class Runs:
    """Rows by run id, newest first, and the columns read so far; a Source for filters."""

    index: Index

    def __init__(self, rows: dict[str, dict[str, Any]], index_id: str, revision: int) -> None:
        self.rows, self.index_id, self.revision = rows, index_id, revision
        self._columns: dict[Operand, dict[str, Any]] = {}
        self._used: dict[Operand, float] = {}
        self._configs: dict[str, dict[str, Any]] | None = None
        self._texts: dict[str, dict[str | None, bytes | None]] = {}
        self._text_bytes = 0
        self._visible: dict[Any, frozenset[str]] = {}

    @property
    def cursor(self) -> str:
        """What a client gives back to hear only of later changes."""
        return f"{self.index_id}.{self.revision}"

    def updated(self, index: Index) -> Runs:
        """This, brought to the index's newest revision; another object if the index was remade."""
        index_id, revision = index.identity
        if index_id != self.index_id:
            rows = {row["run_id"]: row for row in index.runs()}
            return Runs(rows, index_id, max([revision, *(r["revision"] for r in rows.values())]))
        if revision != self.revision:
            self._take(index, index.changed_since(self.revision))
            self.revision = revision
        return self

    def _take(self, index: Index, changed: list[dict[str, Any]]) -> None:
        self._forget_unused()
        self._visible.clear()
        new = False
        for row in changed:
            run_id = row["run_id"]
            self._drop(run_id)
            if row["deleted"]:
                self.rows.pop(run_id, None)
            else:
                new = new or run_id not in self.rows
                self.rows[run_id] = row
        if new:
            ordered = sorted(self.rows.values(), key=lambda r: (-r["created_us"], r["run_id"]))
            self.rows = {row["run_id"]: row for row in ordered}
        self._read_again(index, [r["run_id"] for r in changed if r["run_id"] in self.rows])

    def _drop(self, run_id: str) -> None:
        for column in (*self._columns.values(), *(self._configs or {}).values()):
            column.pop(run_id, None)
        for text in self._texts.pop(run_id, {}).values():
            self._text_bytes -= len(text or b"")

    def _read_again(self, index: Index, ids: list[str]) -> None:
        source = IndexSource(index, self.rows)
        for operand, column in self._columns.items():
            column.update(source.values(operand, ids))
        if self._configs is not None:
            _add_configs(self._configs, index, ids)

    def _forget_unused(self) -> None:
        limit = time.monotonic() - _FORGET_S
        for operand in [each for each, used in self._used.items() if used < limit]:
            self._columns.pop(operand, None)
            del self._used[operand]

    def values(self, operand: Operand, run_ids: Collection[str]) -> Mapping[str, Any]:
        """Run id -> value, for those of `run_ids` that have one."""
        column = self._column(operand)
        if len(run_ids) == len(self.rows):
            return column
        return {run_id: column[run_id] for run_id in run_ids if run_id in column}

    def _column(self, operand: Operand) -> Mapping[str, Any]:
        if operand.kind == "config" and self._configs is not None:
            return self._configs.get(operand.name, {})
        if operand.kind == "run" and operand.name in _NEVER_KEPT:
            return IndexSource(self.index, self.rows).values(operand, self.rows)
        self._used[operand] = time.monotonic()
        if operand not in self._columns:
            found = IndexSource(self.index, self.rows).values(operand, self.rows)
            self._columns[operand] = dict(found)
        return self._columns[operand]

    def cells(
        self, operands: Iterable[Operand], run_ids: Collection[str]
    ) -> dict[Operand, Mapping[str, Any]]:
        """The columns for a few runs: what is not kept is read for these runs alone."""
        wanted = list(operands)
        source = IndexSource(self.index, self.rows, wanted)
        return {
            each: (self if self._is_kept(each) else source).values(each, run_ids) for each in wanted
        }

    def _is_kept(self, operand: Operand) -> bool:
        if operand.kind == "config":
            return self._configs is not None
        return operand in self._columns or operand.kind == "run"

    def adopt_configs(self, columns: dict[str, dict[str, Any]], revision: int) -> None:
        """Keep what another thread read at `revision`, and read anew what changed since."""
        if self._configs is not None:
            return
        changed = [i for i, row in self.rows.items() if row["revision"] > revision]
        for column in columns.values():
            for run_id in (*changed, *(column.keys() - self.rows.keys())):
                column.pop(run_id, None)
        _add_configs(columns, self.index, changed)
        self._configs = columns

    def _all_configs(self) -> dict[str, dict[str, Any]]:
        if self._configs is None:  # one pass reads them all, whatever is asked for
            self._configs = {}
            _add_configs(self._configs, self.index, self.rows)
        return self._configs

    def config_names(self) -> Iterable[str]:
        """Every config's name."""
        return self._all_configs().keys()

    def configs_of(self, run_ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """Config name -> run id -> value, of a few runs."""
        columns: dict[str, dict[str, Any]] = {}
        _add_configs(columns, self.index, run_ids)
        return columns

    def texts(self, run_ids: Collection[str]) -> Iterator[tuple[str, Texts]]:
        """Every run's searchable texts by field."""
        unread = [run_id for run_id in run_ids if run_id not in self._texts]
        fetched = dict(IndexSource(self.index, self.rows).texts(unread)) if unread else {}
        for run_id in run_ids:
            yield run_id, self._kept_text(run_id, fetched.get(run_id))

    def _kept_text(self, run_id: str, fetch: Texts | None) -> Texts:
        def text(field: str | None) -> bytes | None:
            known = self._texts.get(run_id, {})
            if field in known:
                return known[field]
            read = fetch or dict(IndexSource(self.index, self.rows).texts([run_id]))[run_id]
            found = read(field)
            if self._text_bytes < _MAX_TEXT_BYTES:
                self._texts.setdefault(run_id, {})[field] = found
                self._text_bytes += len(found or b"")
            return found

        return text

    def visible(self, visitor: Visitor) -> Collection[str]:
        """The runs that a visitor may see, newest first."""
        if not visitor.bounded:
            return self.rows.keys()
        key = (visitor.token_id, visitor.project, visitor.runs)
        if key not in self._visible:
            ids = [i for i, r in self.rows.items() if visitor.project in (None, r["project"])]
            if visitor.runs is not None:
                ids = self.selected(visitor.runs, ids)
            self._visible[key] = frozenset(ids)
        allowed = self._visible[key]
        return [run_id for run_id in self.rows if run_id in allowed]

    def selected(self, wanted: RunSelection, among: Collection[str]) -> list[str]:
        """Those of `among` that a selection names, newest first."""
        return self.found(wanted.where, wanted.search, wanted.project, wanted.ids, among)

    def found(
        self,
        where: str | None,
        search: str | None,
        project: str | None,
        ids: Collection[str] | None,
        among: Collection[str],
    ) -> list[str]:
        """Those of `among` that filter, search, project and ids select, in their order."""
        left: Collection[str] = among
        if ids is not None:
            named = frozenset(ids)
            left = [run_id for run_id in left if run_id in named]
        if project is not None:
            known = {self.rows[run_id]["project"] for run_id in among}
            meant = project_test(project, known)
            verdicts = {name: meant(name) for name in known}
            left = [run_id for run_id in left if verdicts[self.rows[run_id]["project"]]]
        filter_ = combined(where, search)
        if filter_ is None:
            return list(left)
        chosen = select(filter_, left, self)
        return [run_id for run_id in left if run_id in chosen]


def _add_configs(columns: dict[str, dict[str, Any]], index: Index, ids: Collection[str]) -> None:
    for run_id, values in each_config(index, ids):
        for name, value in values.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = {}
            column[run_id] = value
