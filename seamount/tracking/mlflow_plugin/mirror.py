"""Keeps MLflow's own tables up to date with the index, so that its search and its UI see our runs.

One transaction takes all runs that changed since the last one, together with the revision reached;
each row is written by its key, so doing it twice changes nothing. Metric histories are not copied:
the store reads them from the index. What MLflow is shown of what it has no place for:
rank 0's strand stands under the metric's name, other ranks under `name@rank`; fractional steps are
rounded down; the newest config snapshot stands as params, and one whose values were later changed
as the tag `seamount.config.N`; a failure as the tag `seamount.error`; where a run was forked as the
tags `seamount.fork_run_id` and `seamount.fork_step` (MLflow's own parentRunId means a run within a
run, and folds the child away below the parent: a fork is a run of its own).
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

from mlflow.entities import LifecycleStage
from mlflow.store.tracking.dbmodels.models import SqlLatestMetric, SqlParam, SqlRun, SqlTag
from sqlalchemy import delete, text
from sqlalchemy.dialects.sqlite import insert

from seamount.tracking.configs import as_text
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index, Summary

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

_CREATE = text(
    "CREATE TABLE IF NOT EXISTS seamount_mirror "
    "(one INTEGER PRIMARY KEY CHECK (one = 1), index_id TEXT NOT NULL, revision INTEGER NOT NULL)"
)
_READ = text("SELECT index_id, revision FROM seamount_mirror")
_SAVE = text("INSERT OR REPLACE INTO seamount_mirror VALUES (1, :index_id, :revision)")


def create_table(session: Any) -> None:
    """Make the table that remembers how far MLflow's tables are."""
    session.execute(_CREATE)


def behind(session: Any, index: Index) -> tuple[int, list[dict[str, Any]]]:
    """(revision MLflow's tables have, runs that changed since)."""
    saved = session.execute(_READ).fetchone()
    since = saved[1] if saved and saved[0] == index.identity[0] else 0
    return since, index.changed_since(since)


def mirror(session: Any, store: Store, index: Index, experiments: dict[str, int]) -> None:
    """Bring MLflow's tables up to date; `experiments` maps each changed project to its id."""
    index_id, revision = index.identity
    since, runs = behind(session, index)
    for run in runs:
        if run["project"] in experiments:
            _run(session, store, run, experiments[run["project"]])
            _details(session, index, run, since)
    session.execute(_SAVE, {"index_id": index_id, "revision": revision})


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


def _run(session: Any, store: Store, run: dict[str, Any], experiment_id: int) -> None:
    stage = LifecycleStage.DELETED if run["deleted"] else LifecycleStage.ACTIVE
    now = {
        "name": run["name"][:250],
        "status": MLFLOW_STATUS.get(run["state"], "RUNNING"),
        "end_time": run["ended_us"] and run["ended_us"] // 1000,
    }
    fixed = {
        "run_uuid": run["run_id"],
        "experiment_id": experiment_id,
        "user_id": run["owner"],
        "start_time": run["created_us"] // 1000,
        "artifact_uri": str(store.artifact_folder(run["run_id"])),
        "lifecycle_stage": stage,
        "source_type": "LOCAL",
        "source_name": "",
        "entry_point_name": "",
        "source_version": "",
    }
    _upsert(session, SqlRun, [fixed | now], ["run_uuid"], list(now))


def _details(session: Any, index: Index, run: dict[str, Any], since: int) -> None:
    run_id = run["run_id"]
    snapshots = index.configs(run_id)
    params = snapshots[-1]["values"] if snapshots else {}
    rows = [
        {"run_uuid": run_id, "key": key, "value": as_text(value)[:MAX_PARAM_CHARS]}
        for key, value in params.items()
    ]
    _upsert(session, SqlParam, rows, ["key", "run_uuid"], ["value"])
    tags = index.tags(run_id) | _own_tags(run, snapshots)
    rows = [{"run_uuid": run_id, "key": k, "value": v[:MAX_TAG_CHARS]} for k, v in tags.items()]
    _upsert(session, SqlTag, rows, ["key", "run_uuid"], ["value"])
    for key in index.removed_tags(run_id):
        session.execute(delete(SqlTag).where(SqlTag.run_uuid == run_id, SqlTag.key == key))
    rows = [_latest(run_id, summary) for summary in index.summaries(run_id, since)]
    measured = ["value", "timestamp", "step", "is_nan"]
    _upsert(session, SqlLatestMetric, rows, ["key", "run_uuid"], measured)


def _own_tags(run: dict[str, Any], snapshots: list[dict[str, Any]]) -> dict[str, str]:
    tags = {"mlflow.runName": run["name"], "mlflow.user": run["owner"]}
    if snapshots:
        tags["seamount.config_digest"] = snapshots[-1]["digest"]
    for number, (old, new) in enumerate(pairwise(snapshots)):
        if any(new["values"][key] != value for key, value in old["values"].items()):
            tags[f"seamount.config.{number}"] = json.dumps(old["values"], sort_keys=True)
    if run["fork_run_id"] is not None:
        tags["seamount.fork_run_id"] = run["fork_run_id"]
        tags["seamount.fork_step"] = str(run["fork_step"])
    if run["error"]:
        error = json.loads(run["error"])
        tags["seamount.error"] = f"{error['type']}: {error['message']}"
    return tags


def _latest(run_id: str, summary: Summary) -> dict[str, Any]:
    value, is_nan = plain_value(summary.last_value)
    return {
        "run_uuid": run_id,
        "key": metric_key(summary.name, summary.rank),
        "value": value,
        "is_nan": is_nan,
        "timestamp": summary.last_us // 1000,
        "step": whole_step(summary.last_step),
    }


def _upsert(
    session: Any, model: Any, rows: list[dict[str, Any]], key: list[str], change: list[str]
) -> None:
    if not rows:
        return
    statement = insert(model.__table__)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=key, set_={name: statement.excluded[name] for name in change}
        ),
        rows,
    )
