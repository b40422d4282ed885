"""What changed in some runs, read from the index in few questions: params, tags, last metrics."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME, MLFLOW_USER

from seamount.tracking.configs import as_text, digest
from seamount.tracking.mlflow_plugin.log_calls import one_line
from seamount.tracking.store.index import Index, Summary

_OF = "run_id IN (SELECT value FROM json_each(?1))"


@dataclass
class Change:
    """A run's row, all its params and tags as MLflow sees them, and the metrics that changed."""

    run: dict[str, Any]
    params: dict[str, str]
    tags: dict[str, str]
    removed_tags: list[str]
    metrics: list[Summary]


def changes(index: Index, runs: list[dict[str, Any]], since: int) -> Iterator[Change]:
    """What MLflow has to know of these runs; metrics only where they changed after `since`."""
    ids = json.dumps([run["run_id"] for run in runs])
    configs, tags = _grouped(index, "configs", ids), _grouped(index, "tags", ids)
    removed: defaultdict[str, list[str]] = defaultdict(list)
    for run_id, key in index.db.execute(
        f"SELECT run_id, key FROM tags WHERE {_OF} AND value IS NULL", (ids,)
    ):
        removed[run_id].append(key)
    for run in runs:
        run_id = run["run_id"]
        params, extra = _config([json.loads(data) for _, data in configs[run_id]])
        if run["fork_run_id"] is not None:
            extra["seamount.fork_run_id"] = run["fork_run_id"]
            extra["seamount.fork_step"] = str(run["fork_step"])
        if run["error"]:
            error = json.loads(run["error"])
            extra["seamount.error"] = f"{error['type']}: {error['message']}"
        metrics = index.summaries(run_id, since) if since else index.summaries(run_id)
        shown = _named(run, dict(tags[run_id])) | extra
        yield Change(run, params, shown, removed[run_id], metrics)


def _named(run: dict[str, Any], tags: dict[str, str]) -> dict[str, str]:
    """With MLflow's tags for name and user; a client's run has what its client said."""
    said = tags.get(MLFLOW_RUN_NAME)
    if said is None:
        tags[MLFLOW_USER] = run["owner"]
    if said is None or one_line(said) != run["name"]:
        tags[MLFLOW_RUN_NAME] = run["name"]
    return tags


_QUERIES = {
    "configs": f"SELECT run_id, time_us, data FROM configs WHERE {_OF} "
    "ORDER BY run_id, time_us, segment_id, sequence",
    "tags": f"SELECT run_id, key, value FROM tags WHERE {_OF} AND value IS NOT NULL",
}


def _grouped(index: Index, table: str, ids: str) -> defaultdict[str, list[tuple[Any, Any]]]:
    found: defaultdict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for run_id, first, second in index.db.execute(_QUERIES[table], (ids,)):
        found[run_id].append((first, second))
    return found


def _config(logged: list[dict[str, Any]]) -> tuple[dict[str, str], dict[str, str]]:
    """(params, tags) of a run's configs in order.

    A snapshot is what stands after a call that changed something; those that lost a value to a
    later one are tags `seamount.config.N`, N counting snapshots from 0 as `Index.configs` does.
    """
    values: dict[str, Any] = {}
    tags: dict[str, str] = {}
    number = -1
    for new in logged:
        changed = {k for k, v in new.items() if k not in values or _text(values[k]) != _text(v)}
        if not changed and number >= 0:
            continue
        if any(key in values for key in changed):
            tags[f"seamount.config.{number}"] = json.dumps(values, sort_keys=True)
        number += 1
        values |= new
    if logged:
        tags["seamount.config_digest"] = digest(values)
    return {key: as_text(value) for key, value in values.items()}, tags


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
