"""The index: SQLite tables made from the segments, and the questions readers ask of them.

It holds nothing that the segments do not: remove index.db, and the next reader makes it again.
NaN is stored as NULL (SQLite has none) and comes back as NaN. A restarted rank logs under a new
attempt: `history` shows of each attempt the points below the first step of the later ones.
"""

from __future__ import annotations

import json
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError, explain_os_error
from seamount.tracking.configs import digest

SCHEMA_VERSION = 3
_BUSY_TIMEOUT_S = 60.0

_SCHEMA = """
CREATE TABLE identity (index_id TEXT NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
    created_us INTEGER NOT NULL, state TEXT NOT NULL, ended_us INTEGER, error TEXT,
    said_state TEXT, said_us INTEGER NOT NULL DEFAULT 0, said_ended_us INTEGER,
    deleted INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL, quiet_ns INTEGER NOT NULL DEFAULT 0);
CREATE INDEX runs_by_revision ON runs (revision);
CREATE TABLE segments (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, file TEXT NOT NULL, host TEXT NOT NULL,
    rank INTEGER NOT NULL, pid INTEGER NOT NULL, role TEXT NOT NULL, attempt INTEGER NOT NULL,
    part INTEGER NOT NULL, start_us INTEGER NOT NULL, position INTEGER NOT NULL,
    records INTEGER NOT NULL DEFAULT 0, points INTEGER NOT NULL DEFAULT 0,
    damaged INTEGER NOT NULL DEFAULT 0, torn_bytes INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open', end_state TEXT, end_us INTEGER, error TEXT,
    UNIQUE (run_id, file));
CREATE TABLE sets (
    segment_id INTEGER NOT NULL, set_id INTEGER NOT NULL, names TEXT NOT NULL,
    PRIMARY KEY (segment_id, set_id)) WITHOUT ROWID;
CREATE TABLE series (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL, points INTEGER NOT NULL DEFAULT 0, bad INTEGER NOT NULL DEFAULT 0,
    min_step, last_step, last_us INTEGER, last_value REAL, min_value REAL, max_value REAL,
    revision INTEGER NOT NULL DEFAULT 0, UNIQUE (run_id, name, rank, attempt));
CREATE TABLE points (
    series_id INTEGER NOT NULL, segment_id INTEGER NOT NULL, sequence INTEGER NOT NULL,
    step NOT NULL, time_us INTEGER NOT NULL, value REAL,
    PRIMARY KEY (series_id, segment_id, sequence)) WITHOUT ROWID;
CREATE TABLE strings (
    run_id TEXT NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, segment_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, step, time_us INTEGER NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (run_id, name, rank, segment_id, sequence)) WITHOUT ROWID;
CREATE TABLE histograms (
    run_id TEXT NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, segment_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, step, time_us INTEGER NOT NULL, type TEXT NOT NULL,
    edges_and_values TEXT NOT NULL,
    PRIMARY KEY (run_id, name, rank, segment_id, sequence)) WITHOUT ROWID;
CREATE TABLE file_series (
    run_id TEXT NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL, segment_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, step, time_us INTEGER NOT NULL, path TEXT NOT NULL,
    digest TEXT NOT NULL, size_bytes INTEGER NOT NULL, mime TEXT NOT NULL,
    PRIMARY KEY (run_id, name, rank, segment_id, sequence)) WITHOUT ROWID;
CREATE TABLE configs (
    run_id TEXT NOT NULL, time_us INTEGER NOT NULL, segment_id INTEGER NOT NULL,
    sequence INTEGER NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run_id, time_us, segment_id, sequence)) WITHOUT ROWID;
CREATE TABLE tags (
    run_id TEXT NOT NULL, key TEXT NOT NULL, value TEXT, time_us INTEGER NOT NULL,
    PRIMARY KEY (run_id, key)) WITHOUT ROWID;
CREATE TABLE ends (
    run_id TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, start_us INTEGER NOT NULL,
    end_us INTEGER NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (run_id, host, pid, start_us)) WITHOUT ROWID;
CREATE TABLE files (
    run_id TEXT NOT NULL, name TEXT NOT NULL, time_us INTEGER NOT NULL, segment_id INTEGER NOT NULL,
    digest TEXT NOT NULL, size_bytes INTEGER NOT NULL,
    PRIMARY KEY (run_id, name, time_us, segment_id)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a metric; `step` is int or float as it was logged."""

    step: float
    value: float
    time_us: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A metric of one rank: how many points (all attempts), the newest attempt's last, min, max."""

    name: str
    rank: int
    points: int
    bad: int
    last_step: float
    last_us: int
    last_value: float
    min_value: float | None
    max_value: float | None


@dataclass
class Index:
    """An open index; use `Store.index()`."""

    db: sqlite3.Connection

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    @property
    def identity(self) -> tuple[str, int]:
        """(id of this index, its newest revision); a rebuilt index has another id."""
        return self.db.execute("SELECT index_id, revision FROM identity").fetchone()

    def runs(self, project: str | None = None, *, deleted: bool = False) -> list[dict[str, Any]]:
        """Rows of the runs table, newest first."""
        return self._rows(
            "SELECT * FROM runs WHERE deleted <= ? AND (?2 IS NULL OR project = ?2) "
            "ORDER BY created_us DESC, run_id",
            (int(deleted), project),
        )

    def run(self, run_id: str) -> dict[str, Any]:
        """Row of one run; raises UserError where there is none."""
        rows = self._rows("SELECT * FROM runs WHERE run_id = ?", (run_id,))
        if not rows:
            raise UserError(f"no run {run_id!r} in this store: `seamount track ls` lists them")
        return rows[0]

    def changed_since(self, revision: int) -> list[dict[str, Any]]:
        """Runs that changed after `revision`, oldest change first."""
        return self._rows("SELECT * FROM runs WHERE revision > ? ORDER BY revision", (revision,))

    def segments(self, run_id: str) -> list[dict[str, Any]]:
        """Rows of the run's segments, by rank, attempt, start and part."""
        return self._rows(
            "SELECT * FROM segments WHERE run_id = ? ORDER BY rank, attempt, start_us, part",
            (run_id,),
        )

    def tags(self, run_id: str) -> dict[str, str]:
        """Tags as they now stand."""
        query = "SELECT key, value FROM tags WHERE run_id = ? AND value IS NOT NULL ORDER BY key"
        return dict(self.db.execute(query, (run_id,)).fetchall())

    def removed_tags(self, run_id: str) -> list[str]:
        """Names of the tags that were taken away."""
        query = "SELECT key FROM tags WHERE run_id = ? AND value IS NULL"
        return [key for (key,) in self.db.execute(query, (run_id,))]

    def configs(self, run_id: str) -> list[dict[str, Any]]:
        """Snapshots in order: {"digest", "time_us", "values"}; each holds the earlier values too.

        A snapshot is the configuration as it stood after a log_configs call that changed it.
        """
        query = "SELECT time_us, data FROM configs WHERE run_id = ? ORDER BY time_us, segment_id"
        snapshots: list[dict[str, Any]] = []
        values: dict[str, Any] = {}
        for time_us, data in self.db.execute(query, (run_id,)):
            values = values | json.loads(data)
            content_hash = digest(values)
            if not snapshots or snapshots[-1]["digest"] != content_hash:
                snapshots.append({"digest": content_hash, "time_us": time_us, "values": values})
        return snapshots

    def files(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Name -> {"digest", "size_bytes", "versions"} of the newest version of each file."""
        newest: dict[str, dict[str, Any]] = {}
        query = "SELECT name, digest, size_bytes FROM files WHERE run_id = ? ORDER BY name, time_us"
        for name, content_hash, size in self.db.execute(query, (run_id,)):
            versions = newest.get(name, {"versions": 0})["versions"] + 1
            newest[name] = {"digest": content_hash, "size_bytes": size, "versions": versions}
        return newest

    def summaries(self, run_id: str, since: int = -1) -> list[Summary]:
        """Every metric of every rank (whose revision is above `since`), by name and rank."""
        query = (
            "SELECT name, rank, points, bad, last_step, last_us, last_value, min_value, max_value "
            "FROM series WHERE run_id = ?1 ORDER BY name, rank, attempt"
        )
        values: tuple[Any, ...] = (run_id,)
        if since >= 0:
            changed = "(SELECT name, rank FROM series WHERE run_id = ?1 AND revision > ?2)"
            query = query.replace("ORDER", f"AND (name, rank) IN {changed} ORDER")
            values = (run_id, since)
        found: dict[Any, Summary] = {}
        for row in self.db.execute(query, values):
            older = found.get(row[:2])
            points, bad = row[2], row[3]
            if older is not None:
                points, bad = points + older.points, bad + older.bad
            found[row[:2]] = Summary(
                row[0], row[1], points, bad, row[4], row[5], _real(row[6]), row[7], row[8]
            )
        return list(found.values())

    def has_metric(self, run_id: str, name: str, rank: int) -> bool:
        """Whether `rank` logged a metric of this name."""
        query = "SELECT 1 FROM series WHERE run_id = ? AND name = ? AND rank = ? LIMIT 1"
        return self.db.execute(query, (run_id, name, rank)).fetchone() is not None

    def history(
        self, run_id: str, name: str, rank: int = 0, *, attempt: int | None = None
    ) -> list[Point]:
        """Points of a metric by step, then time; of one attempt, or as the attempts follow on."""
        found = self.db.execute(
            "SELECT id, attempt, min_step FROM series WHERE run_id = ? AND name = ? AND rank = ?"
            " AND points > 0 ORDER BY attempt DESC",
            (run_id, name, rank),
        ).fetchall()
        points: list[Point] = []
        ceiling = None
        for series_id, number, min_step in found:
            if attempt in (None, number):
                points += self._points(series_id, ceiling if attempt is None else None)
                ceiling = min_step if ceiling is None else min(ceiling, min_step)
        return sorted(points, key=lambda p: (p.step, p.time_us))

    def _points(self, series_id: int, ceiling: float | None) -> list[Point]:
        query = "SELECT step, value, time_us FROM points WHERE series_id = ?1"
        if ceiling is not None:
            query += " AND step < ?2"
        rows = self.db.execute(query, (series_id, ceiling)[: 1 if ceiling is None else 2])
        return [Point(step, _real(value), time_us) for step, value, time_us in rows]

    def next_steps(self, run_id: str, rank: int) -> dict[str, int]:
        """Metric name -> the whole step after its last one, for numbering that goes on."""
        query = (
            "SELECT name, max(last_step) FROM series WHERE run_id = ? AND rank = ? GROUP BY name"
        )
        found = self.db.execute(query, (run_id, rank)).fetchall()
        return {name: int(last // 1) + 1 for name, last in found}

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        cursor = self.db.execute(query, values)
        columns = [column[0] for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor]


def open_index(path: Path) -> Index:
    """Open the index, made (or remade, if of another schema) where needed."""
    try:
        db = _connect(path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            db.close()
            path.unlink(missing_ok=True)  # made from the segments, so it can be made again
            db, version = _connect(path), 0
        if version == 0:
            _create(db)
    except sqlite3.OperationalError as error:
        raise UserError(
            f"cannot open {path} ({error}): check the folder's owner and room"
        ) from error
    except OSError as error:
        raise explain_os_error(error, f"opening {path}") from error
    return Index(db)


def _connect(path: Path) -> sqlite3.Connection:
    # The rollback journal, not WAL: it also holds on file systems shared by hosts.
    db = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA cache_size = -65536")  # 64 MiB: a piece touches every series it holds
    return db


def _create(db: sqlite3.Connection) -> None:
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in _SCHEMA.strip().split(";\n"):
            db.execute(statement)
        db.execute("INSERT INTO identity VALUES (?, 0)", (os.urandom(8).hex(),))
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    db.execute("COMMIT")


def _real(value: float | None) -> float:
    return float("nan") if value is None else value
