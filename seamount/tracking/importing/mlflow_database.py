"""MLflow's SQLite file, read directly: nothing is written to it and no server is started."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.tracking.importing import mlflow_words, places
from seamount.tracking.importing.records import (
    Config,
    Item,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
    Unreadable,
    attempted,
)

_RUNS = """SELECT r.run_uuid, r.name, r.user_id, r.status, r.start_time, r.end_time,
    r.lifecycle_stage, r.artifact_uri, e.name AS experiment, e.lifecycle_stage AS experiment_stage
    FROM runs r LEFT JOIN experiments e USING (experiment_id) ORDER BY r.start_time, r.run_uuid"""
_METRICS = """SELECT key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ?
    ORDER BY key, timestamp, step"""
_DATASETS = """SELECT d.name, d.digest, d.dataset_source_type, d.dataset_source, d.dataset_schema,
    d.dataset_profile, i.input_uuid FROM inputs i JOIN datasets d ON d.dataset_uuid = i.source_id
    WHERE i.destination_id = ? AND i.source_type = 'DATASET' ORDER BY d.name, d.digest"""
_NOT_TAKEN = {
    "registered_models": "registered models (the registry is not imported)",
    "model_versions": "model versions (the registry is not imported)",
    "logged_models": "logged models (their metrics are, as the runs')",
    "trace_info": "traces (not imported)",
}


def runs(path: Path, origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """Every run of the database at `path`; raises CorruptData where it is not MLflow's."""
    try:
        with closing(_connect(path)) as db:
            rows = [dict(row) for row in db.execute(_RUNS)]
            sizes = {
                row[0]: list(row[1:])
                for row in db.execute(
                    "SELECT run_uuid, count(*), max(timestamp), total(value) FROM metrics"
                    " GROUP BY run_uuid"
                )
            }
            _tell(db, origin.report)
    except sqlite3.Error as error:
        raise CorruptData(f"{path.name} is no MLflow database that can be read: {error}") from error
    for row in rows:
        reader, size = _Reader(path, row, origin.files), sizes.get(row["run_uuid"])
        yield attempted(str(row["run_uuid"]), partial(_run, reader, size))


def _run(reader: _Reader, metrics: list[Any] | None) -> SourceRun:
    row = reader.row
    return SourceRun(
        key=row["run_uuid"],
        wanted_id=row["run_uuid"],
        project=row["experiment"] or "Default",
        name=row["name"] or row["run_uuid"],
        owner=row["user_id"] or "unknown",
        created_us=(row["start_time"] or 0) * 1000,
        fingerprint=reader.fingerprint(metrics),
        items=reader.items,
        state=mlflow_words.state(row["status"]),
        ended_us=None if row["end_time"] is None else row["end_time"] * 1000,
        deleted="deleted" in (row["lifecycle_stage"], row["experiment_stage"]),
    )


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    return db


def _tell(db: sqlite3.Connection, report: Report) -> None:
    """Count what a database may hold beside runs."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, reason in _NOT_TAKEN.items():
        if table in tables and (n := db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]):
            report.add(reason, count=n)


@dataclass
class _Reader:
    path: Path
    row: dict[str, Any]
    roots: tuple[str, ...]

    def fingerprint(self, metrics: list[Any] | None) -> str:
        """Of the run's row, tags, params and datasets; of metrics their count, end and sum."""
        with closing(_connect(self.path)) as db:
            details = [self._pairs(db, "params"), self._pairs(db, "tags"), self._datasets(db)]
        return places.fingerprint(self.row, metrics, details, self._artifacts().state())

    def items(self, report: Report) -> Iterator[Item]:
        """Params, tags, datasets, every point of every metric, artifacts."""
        created_us = (self.row["start_time"] or 0) * 1000
        with closing(_connect(self.path)) as db:
            params = self._pairs(db, "params")
            if params:
                yield Config(params, created_us)
            yield Tags(self._pairs(db, "tags") | self._datasets(db), created_us)
            for key, value, timestamp, step, is_nan in db.execute(_METRICS, (self._id,)):
                number = float("nan") if is_nan else value
                mlflow_words.tell_clamped(number, key, report)
                yield Points({key: number}, step, timestamp * 1000)
        yield from self._artifacts().items(created_us, report)

    @property
    def _id(self) -> str:
        return str(self.row["run_uuid"])

    def _artifacts(self) -> mlflow_words.Artifacts:
        uri, home = self.row["artifact_uri"] or "", self.path.parent
        return mlflow_words.Artifacts(uri, home, (str(home), *self.roots))

    def _pairs(self, db: sqlite3.Connection, table: str) -> dict[str, str]:
        rows = db.execute(f"SELECT key, value FROM {table} WHERE run_uuid = ?", (self._id,))
        return {key: value or "" for key, value in sorted(map(tuple, rows))}

    def _datasets(self, db: sqlite3.Connection) -> dict[str, str]:
        """One tag a dataset: `mlflow.dataset/NAME@DIGEST` -> its description as JSON."""
        try:
            rows = db.execute(_DATASETS, (self._id,)).fetchall()
        except sqlite3.OperationalError:
            return {}  # a database from before datasets
        found: dict[str, str] = {}
        for *parts, input_id in rows:
            tags = db.execute(
                "SELECT name, value FROM input_tags WHERE input_uuid = ?", (input_id,)
            )
            described = dict(zip(mlflow_words.DATASET, parts, strict=True))
            found |= mlflow_words.dataset_tag(described | {"tags": dict(map(tuple, tags))})
        return found
