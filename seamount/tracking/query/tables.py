"""Runs, one run, and the points of a metric as dicts of JSON values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.core.registry import unknown
from seamount.tracking.index import Index
from seamount.tracking.names import check_run_id
from seamount.tracking.store import open_store

if TYPE_CHECKING:
    from seamount.tracking.columns import Columns

_RUN_COLUMNS = ("run_id", "project", "name", "owner", "state", "created_us", "ended_us")


def runs(store: str | Path | None = None, project: str | None = None) -> list[dict[str, Any]]:
    """Every run (of a project), newest first; times in microseconds since 1970 UTC."""
    opened = open_store(store, create=False)
    opened.refresh()
    with opened.index() as index:
        return [_row(row) for row in index.runs(project)]


def run(store: str | Path | None, run_id: str) -> dict[str, Any]:
    """One run with config (newest snapshot), snapshots, tags, files and metric summaries."""
    opened = open_store(store, create=False)
    opened.refresh(check_run_id(run_id))
    with opened.index() as index:
        row = _row(index.run(run_id))
        snapshots = index.configs(run_id)
        return row | {
            "config": snapshots[-1]["values"] if snapshots else {},
            "snapshots": [{"digest": s["digest"], "time_us": s["time_us"]} for s in snapshots],
            "tags": index.tags(run_id),
            "files": index.files(run_id),
            "metrics": [asdict(summary) for summary in index.summaries(run_id)],
        }


def points(
    store: str | Path | None, run_id: str, metric: str, rank: int = 0
) -> list[dict[str, Any]]:
    """Points {"step", "value", "time_us"} of a metric by step; raises UserError if unknown."""
    with _metric(store, run_id, metric, rank) as index:
        return [asdict(point) for point in index.history(run_id, metric, rank)]


def columns(store: str | Path | None, run_id: str, metric: str, rank: int = 0) -> Columns:
    """The same points as numpy columns (needs the extra `query`)."""
    with _metric(store, run_id, metric, rank) as index:
        return index.columns(run_id, metric, rank)


@contextmanager
def _metric(store: str | Path | None, run_id: str, metric: str, rank: int) -> Iterator[Index]:
    """The index, once the run was taken in and the metric is found there."""
    opened = open_store(store, create=False)
    opened.refresh(check_run_id(run_id))
    with opened.index() as index:
        index.run(run_id)
        if not index.has_metric(run_id, metric, rank):
            raise _unknown_metric(index, run_id, metric, rank)
        yield index


def _unknown_metric(index: Index, run_id: str, metric: str, rank: int) -> UserError:
    known = [s.name for s in index.summaries(run_id) if s.rank == rank]
    if known:
        return unknown("metric", metric, known)
    return UserError(f"rank {rank} of run {run_id} logged no metrics")


def _row(row: dict[str, Any]) -> dict[str, Any]:
    error = json.loads(row["error"]) if row["error"] else None
    return {column: row[column] for column in _RUN_COLUMNS} | {"error": error}
