"""Keeps MLflow's own tables up to date with the index, so that its search and its UI see our runs.

Runs that changed are taken in the order of their changes, some hundreds in a transaction, together
with how far that is; each row is written by its key, so doing it twice changes nothing, and a
reader that dies leaves nothing half done. mlflow.db also holds what is in no segment (the registry,
traces), so it is written as safely as MLflow writes it. Metric histories are not copied: the store
reads them from the columns.

What MLflow is shown of what it has no place for: rank 0's strand stands under the metric's name,
other ranks under `name@rank`; fractional steps are rounded down; the newest config snapshot stands
as params, and one whose values were later changed as the tag `seamount.config.N`; a failure as the
tag `seamount.error`; where a run was forked as the tags `seamount.fork_run_id` and
`seamount.fork_step` (MLflow's own parentRunId means a run within a run, and folds the child away
below the parent: a fork is a run of its own).
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from seamount.core import locks
from seamount.tracking.mlflow_plugin.changes import Change, changes
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index
from seamount.tracking.store.schema import transaction

MLFLOW_STATUS = {
    "Running": "RUNNING",
    "Completed": "FINISHED",
    "Failed": "FAILED",
    "Interrupted": "KILLED",  # MLflow has one word for both; read back, it is our last one
    "Killed": "KILLED",
    "Scheduled": "SCHEDULED",
}
MAX_PARAM_CHARS, MAX_TAG_CHARS = 6000, 8000
MAX_STEP = 2**63 - 1
MAX_VALUE = 1.7976931348623157e308
RUNS_A_TRANSACTION = 500
_BUSY_TIMEOUT_S = 60.0

# `complete`: revision up to which all is here; `reached`: up to which an unfinished pass has come.
_CREATE = """CREATE TABLE IF NOT EXISTS seamount_mirrored (one INTEGER PRIMARY KEY CHECK (one = 1),
    index_id TEXT NOT NULL, complete INTEGER NOT NULL, reached INTEGER NOT NULL)"""
_SAVE = "INSERT OR REPLACE INTO seamount_mirrored VALUES (1, ?, ?, ?)"

_RUN = """INSERT INTO runs (run_uuid, experiment_id, name, status, end_time, user_id, start_time,
        artifact_uri, lifecycle_stage, deleted_time, source_type, source_name, entry_point_name,
        source_version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'LOCAL', '', '', '')
    ON CONFLICT (run_uuid) DO UPDATE SET name = excluded.name, status = excluded.status,
        end_time = excluded.end_time, deleted_time = excluded.deleted_time,
        lifecycle_stage = excluded.lifecycle_stage"""
_TEXT = """INSERT INTO {} (key, run_uuid, value) VALUES (?, ?, ?)
    ON CONFLICT (key, run_uuid) DO UPDATE SET value = excluded.value
    WHERE value IS NOT excluded.value"""
_LATEST = """INSERT INTO latest_metrics (key, run_uuid, value, is_nan, timestamp, step)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key, run_uuid) DO UPDATE SET value = excluded.value,
        is_nan = excluded.is_nan, timestamp = excluded.timestamp, step = excluded.step"""

Experiments = Callable[[str], int]


def create_table(path: Path) -> None:
    """Make the table that remembers how far MLflow's tables are."""
    with closing(_open(path)) as db:
        db.execute(_CREATE)
        db.execute("DROP TABLE IF EXISTS seamount_mirror")  # that of earlier versions


def mirror(path: Path, store: Store, index: Index, experiment_of: Experiments) -> None:
    """Bring MLflow's tables up to date; `experiment_of` gives a project's id (made if need be)."""
    with closing(_open(path)) as db:
        if _up_to_date(db, index):
            return
        # One pass at a time: others would do the same work, and wait for its transactions anyway.
        with locks.held(path.with_name("mirror.lock")):
            _pass(db, store, index, experiment_of)


def _up_to_date(db: sqlite3.Connection, index: Index) -> bool:
    return _saved(db, index)[0] >= index.identity[1]


def _saved(db: sqlite3.Connection, index: Index) -> tuple[int, int]:
    """(complete, reached), both 0 if what is there was made from another index."""
    row = db.execute("SELECT complete, reached FROM seamount_mirrored WHERE index_id = ?",
                     (index.identity[0],)).fetchone()  # fmt: skip
    return row or (0, 0)


def _pass(db: sqlite3.Connection, store: Store, index: Index, experiment_of: Experiments) -> None:
    index_id, newest = index.identity
    complete, reached = _saved(db, index)
    runs = index.changed_since(max(complete, reached))
    if len(runs) > RUNS_A_TRANSACTION:
        db.execute("PRAGMA cache_size = -262144")  # 256 MiB: keys come in no order of the tables
    for start in range(0, len(runs), RUNS_A_TRANSACTION):
        chunk = runs[start : start + RUNS_A_TRANSACTION]
        homes = _experiments(db, chunk, experiment_of)
        found = list(changes(index, chunk, complete))
        last = start + RUNS_A_TRANSACTION >= len(runs)
        done = (newest, newest) if last else (complete, chunk[-1]["revision"])
        with transaction(db):
            _write(db, store, found, homes)
            db.execute(_SAVE, (index_id, *done))
    if not runs:
        db.execute(_SAVE, (index_id, newest, newest))


def _experiments(
    db: sqlite3.Connection, runs: list[dict[str, Any]], experiment_of: Experiments
) -> dict[str, int]:
    """Project -> experiment of the runs that MLflow does not know yet: the others have one."""
    ids = json.dumps([run["run_id"] for run in runs])
    query = "SELECT run_uuid FROM runs WHERE run_uuid IN (SELECT value FROM json_each(?))"
    known = {run_id for (run_id,) in db.execute(query, (ids,))}
    projects = {run["project"] for run in runs if run["run_id"] not in known}
    return {project: experiment_of(project) for project in projects}


def _write(
    db: sqlite3.Connection, store: Store, found: list[Change], homes: dict[str, int]
) -> None:
    """The rows of some runs; those of one run lie together, as pages of runs are read."""
    db.executemany(_RUN, [_run(store, change.run, homes) for change in found])
    db.executemany(_TEXT.format("params"), _params(found))
    db.executemany(_TEXT.format("tags"), _tags(found))
    db.executemany(
        "DELETE FROM tags WHERE key = ? AND run_uuid = ?",
        [(key, change.run["run_id"]) for change in found for key in change.removed_tags],
    )
    db.executemany(_LATEST, _latest(found))


def metric_key(name: str, rank: int) -> str:
    """The name under which MLflow sees a metric of `rank`."""
    return name if rank == 0 else f"{name}@{rank}"


def whole_step(step: float) -> int:
    """A step as MLflow can hold it: rounded down, within 64 bits."""
    return max(-MAX_STEP, min(MAX_STEP, math.floor(step)))


def plain_value(value: float) -> tuple[float, bool]:
    """(value, is_nan) as MLflow's tables hold it: NaN as 0, infinities as the largest double."""
    if math.isnan(value):
        return 0.0, True
    return max(-MAX_VALUE, min(MAX_VALUE, value)), False


def _run(store: Store, run: dict[str, Any], homes: dict[str, int]) -> tuple[Any, ...]:
    return (
        run["run_id"], homes.get(run["project"]), run["name"][:250],
        MLFLOW_STATUS.get(run["state"], "RUNNING"), run["ended_us"] and run["ended_us"] // 1000,
        run["owner"], run["created_us"] // 1000, str(store.artifact_folder(run["run_id"])),
        "deleted" if run["deleted"] else "active",
        run["deleted_us"] // 1000 if run["deleted"] else None,
    )  # fmt: skip


def _params(found: list[Change]) -> Iterator[tuple[str, str, str]]:
    for change in found:
        run_id = change.run["run_id"]
        for key, value in change.params.items():
            yield key, run_id, value[:MAX_PARAM_CHARS]


def _tags(found: list[Change]) -> Iterator[tuple[str, str, str]]:
    for change in found:
        run_id = change.run["run_id"]
        for key, value in change.tags.items():
            yield key, run_id, value[:MAX_TAG_CHARS]


def _latest(found: list[Change]) -> Iterator[tuple[Any, ...]]:
    for change in found:
        run_id = change.run["run_id"]
        for last in change.metrics:
            value, is_nan = plain_value(last.last_value)
            key, step = metric_key(last.name, last.rank), whole_step(last.last_step)
            yield key, run_id, value, is_nan, last.last_us // 1000, step


def _open(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
