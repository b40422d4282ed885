"""What this process knows of the runs that MLflow's clients log to: no call asks a database.

Whether a run is active is asked again once its folder has changed: a deletion always changes it
(store/deletion.py), whichever process does it. Which params a run has is asked again once a segment
of another writer has grown; params are added under a lock of the run, so that of two processes that
give one param different values the second is refused, as MLflow refuses it.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlflow.exceptions import MlflowException

from seamount.core import locks
from seamount.tracking.configs import as_text
from seamount.tracking.mlflow_plugin.clients import ClientWriters
from seamount.tracking.names import is_run_id
from seamount.tracking.store.folder import Store
from seamount.tracking.store.ingest import ingest

_MAX_RUNS = 4096

Conflicts = list[tuple[Any, str]]


@dataclass
class Known:
    """A run as last looked at; `sizes` are those of the other writers' segments in bytes."""

    changed_ns: int
    deleted: bool
    params: dict[str, str]
    sizes: dict[str, int] | None = None


class KnownRuns:
    """The runs this process has logged to; `adopt` makes our side know a run of MLflow's."""

    def __init__(self, store: Store, writers: ClientWriters, adopt: Callable[[str], None]) -> None:
        self._store = store
        self._writers = writers
        self._adopt = adopt
        self._runs: OrderedDict[str, Known] = OrderedDict()

    def check_active(self, run_id: str) -> Known:
        """Raise what MLflow raises where there is no such run, or it is deleted."""
        known = self._runs.get(run_id)
        if known is None or _changed_ns(self._store.segments / run_id) != known.changed_ns:
            known = self._look(run_id)
        if known.deleted:
            raise MlflowException.invalid_parameter_value(
                f"The run {run_id} must be in the 'active' state. Current state is deleted."
            )
        return known

    def forget(self, run_id: str) -> None:
        """Look again at the next call."""
        self._runs.pop(run_id, None)

    def _look(self, run_id: str) -> Known:
        folder = self._store.segments / run_id
        if not is_run_id(run_id) or not (folder / "run.json").is_file():
            self._writers.let_go(run_id)
            self._adopt(run_id)  # raises where MLflow's tables have no such run either
        changed_ns = _changed_ns(folder)  # before the question: a later change is then seen
        with self._store.index() as index:
            ingest(self._store, index, run_id)
            deleted = bool(index.run(run_id)["deleted"])
        older = self._runs.pop(run_id, None) or Known(0, deleted, {})
        known = Known(changed_ns, deleted, older.params, older.sizes)
        self._runs[run_id] = known
        while len(self._runs) > _MAX_RUNS:
            self._runs.popitem(last=False)
        return known

    def add_params(
        self, run_id: str, params: Sequence[Any], refuse: Callable[[Conflicts], MlflowException]
    ) -> None:
        """Append the params that are new; `refuse` words the error for those with another value."""
        known, folder = self.check_active(run_id), self._store.segments / run_id
        with locks.held(folder), self._writers.of(run_id) as strand:
            sizes = _sizes(folder, strand.file_name)
            if known.sizes != sizes:
                known.params, known.sizes = self._params(run_id), sizes
            has = known.params
            conflicts = [(p, has[p.key]) for p in params if has.get(p.key, p.value) != p.value]
            if conflicts:
                raise refuse(conflicts)
            new = [p for p in params if p.key not in has]
            if new:
                strand.params(new)
                has.update((p.key, p.value) for p in new)

    def _params(self, run_id: str) -> dict[str, str]:
        with self._store.index() as index:
            ingest(self._store, index, run_id)
            return {key: as_text(value) for key, value in index.config(run_id).items()}


def _changed_ns(folder: Path) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except FileNotFoundError:
        return -1


def _sizes(folder: Path, own: str) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {
            entry.name: entry.stat().st_size
            for entry in entries
            if entry.name.endswith(".seg") and entry.name != own
        }
