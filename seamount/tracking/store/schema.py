"""The tables of index.db, and how the database is opened, made and made again.

A segment has three offsets: `first` (its records begin), `position` (taken into the summaries) and
`compacted` (the points before it stand in a Parquet part). `parts` names the Parquet files that
count; a file that it does not name is nobody's.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seamount.core import locks
from seamount.core.errors import CorruptData, UserError, explain_os_error

SCHEMA_VERSION = 7
_BUSY_TIMEOUT_S = 60.0

_SCHEMA = """
CREATE TABLE identity (index_id TEXT NOT NULL, revision INTEGER NOT NULL);
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL,
    created_us INTEGER NOT NULL, state TEXT NOT NULL, ended_us INTEGER, error TEXT,
    said_state TEXT, said_us INTEGER NOT NULL DEFAULT 0, said_ended_us INTEGER,
    deleted INTEGER NOT NULL DEFAULT 0, deleted_us INTEGER NOT NULL DEFAULT 0,
    named_us INTEGER NOT NULL DEFAULT 0, fork_run_id TEXT, fork_step,
    revision INTEGER NOT NULL, quiet_ns INTEGER NOT NULL DEFAULT 0);
CREATE INDEX runs_by_revision ON runs (revision);
CREATE INDEX forks ON runs (fork_run_id) WHERE fork_run_id IS NOT NULL;
CREATE TABLE segments (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, file TEXT NOT NULL, host TEXT NOT NULL,
    rank INTEGER NOT NULL, pid INTEGER NOT NULL, role TEXT NOT NULL, attempt INTEGER NOT NULL,
    part INTEGER NOT NULL, start_us INTEGER NOT NULL, first INTEGER NOT NULL,
    position INTEGER NOT NULL, compacted INTEGER NOT NULL,
    records INTEGER NOT NULL DEFAULT 0, points INTEGER NOT NULL DEFAULT 0,
    damaged INTEGER NOT NULL DEFAULT 0, torn_bytes INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open', end_state TEXT, end_us INTEGER, error TEXT,
    UNIQUE (run_id, file));
CREATE INDEX segments_with_tail ON segments (run_id) WHERE position > compacted;
CREATE TABLE sets (
    segment_id INTEGER NOT NULL, set_id INTEGER NOT NULL, names TEXT NOT NULL,
    PRIMARY KEY (segment_id, set_id)) WITHOUT ROWID;
CREATE TABLE series (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, name TEXT NOT NULL, rank INTEGER NOT NULL,
    attempt INTEGER NOT NULL, points INTEGER NOT NULL DEFAULT 0, bad INTEGER NOT NULL DEFAULT 0,
    previews INTEGER NOT NULL DEFAULT 0,
    min_step, last_step, last_us INTEGER, last_value REAL, min_value REAL, max_value REAL,
    revision INTEGER NOT NULL DEFAULT 0, UNIQUE (run_id, name, rank, attempt));
CREATE TABLE parts (
    run_id TEXT NOT NULL, file TEXT NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    level INTEGER NOT NULL, PRIMARY KEY (run_id, file)) WITHOUT ROWID;
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
    sequence INTEGER NOT NULL, data TEXT NOT NULL, origin TEXT,
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
    digest TEXT NOT NULL, size_bytes INTEGER NOT NULL, mime TEXT NOT NULL,
    PRIMARY KEY (run_id, name, time_us, segment_id)) WITHOUT ROWID;
"""


def open_database(path: Path) -> sqlite3.Connection:
    """Open index.db, made (or remade, if of another schema) where needed."""
    try:
        db = _connect(path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, SCHEMA_VERSION):
            db.close()
            db, version = _remade(path), 0
        if version == 0:
            _create(db)
    except OSError as error:
        raise explain_os_error(error, f"opening {path}") from error
    return db


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """What SQLite says of the file itself (no room, no permission, damaged) as one sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UserError(
            f"cannot use {path} ({error}): check the folder's owner and room"
        ) from error
    except sqlite3.DatabaseError as error:
        if type(error) is not sqlite3.DatabaseError:
            raise  # a fault of ours, not of the file
        raise CorruptData(
            f"{path} is damaged ({error}): remove it, and it is made again from the segments"
        ) from error


class transaction:
    """BEGIN IMMEDIATE ... COMMIT, or ROLLBACK on any exception."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self._db.execute("COMMIT")
        finally:
            if self._db.in_transaction:  # SQLite itself may have rolled back: a full disk
                self._db.execute("ROLLBACK")


def next_revision(db: sqlite3.Connection) -> int:
    """Count one more change of the index, within a transaction."""
    db.execute("UPDATE identity SET revision = revision + 1")
    return int(db.execute("SELECT revision FROM identity").fetchone()[0])


def remove_index(folder: Path) -> None:
    """Take index.db away: all it holds is made again from the segments."""
    # The journal first: left beside a new database, it would be played back into it.
    (folder / "index.db-journal").unlink(missing_ok=True)
    (folder / "index.db").unlink(missing_ok=True)


def _remade(path: Path) -> sqlite3.Connection:
    with locks.held(path.with_name("index.lock")):
        db = _connect(path)
        if db.execute("PRAGMA user_version").fetchone()[0] not in (0, SCHEMA_VERSION):
            db.close()
            remove_index(path.parent)
            db = _connect(path)
        _create(db)
        return db


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
