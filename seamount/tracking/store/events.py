"""What the EVENT records of a segment mean for the index: one small function a kind."""

from __future__ import annotations

import json
import mimetypes
import sqlite3
from collections.abc import Callable
from typing import Any

from seamount.tracking.segments.codec import Header, Record

Apply = Callable[[sqlite3.Connection, Header, int, Record, dict[str, Any]], None]


def apply_event(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """Write one event to its tables; a kind of a later version stays in the segments only."""
    apply = {
        "start": _start,
        "config": _config,
        "tags": _tags,
        "files": _files,
        "strings": _strings,
        "histograms": _histograms,
        "file_series": _file_series,
        "state": _state,
        "deleted": _deleted,
        "ended": _ended,
    }.get(body.get("kind", ""))
    if apply is not None:
        apply(db, header, segment_id, record, body)


def _start(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """Another name than the run was made with; the newest stands, as of all that is said of it."""
    if body.get("name"):
        db.execute(
            "UPDATE runs SET name = ?1, named_us = ?2 WHERE run_id = ?3 AND named_us <= ?2",
            (body["name"], record.time_us, header.run_id),
        )


def _config(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    row = (header.run_id, record.time_us, segment_id, record.sequence, json.dumps(body["values"]))
    db.execute("INSERT INTO configs VALUES (?, ?, ?, ?, ?, NULL)", row)


def _tags(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """The newest word on a tag stands, in whatever order the segments are read."""
    pairs = dict.fromkeys(body.get("remove", ())) | body.get("set", {})
    db.executemany(
        "INSERT INTO tags VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " value = excluded.value, time_us = excluded.time_us WHERE excluded.time_us >= time_us",
        [(header.run_id, key, value, record.time_us) for key, value in pairs.items()],
    )


def _files(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    db.executemany(
        "INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                header.run_id,
                n,
                record.time_us,
                segment_id,
                f["digest"],
                f["size_bytes"],
                _mime(n, f),
            )
            for n, f in body["files"].items()
        ],
    )


def _mime(name: str, entry: dict[str, Any]) -> str:
    """As it was logged; by the name's suffix in records of before types were kept."""
    guessed = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return entry.get("mime") or guessed


def _series(table: str, cells: Callable[[Any], tuple[Any, ...]]) -> Apply:
    """Writes a row for each name of the event's data: its place, then the `cells` of its value."""

    def apply(
        db: sqlite3.Connection,
        header: Header,
        segment_id: int,
        record: Record,
        body: dict[str, Any],
    ) -> None:
        place = (header.rank, segment_id, record.sequence, body.get("step"), record.time_us)
        rows = [(header.run_id, n, *place, *cells(value)) for n, value in body["data"].items()]
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    return apply


_strings = _series("strings", lambda text: (text,))
_histograms = _series("histograms", lambda h: (h["type"], json.dumps([h["edges"], h["values"]])))
_file_series = _series(
    "file_series", lambda f: (f["path"], f["digest"], f["size_bytes"], f["mime"])
)


def _state(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """A state said by a client (MLflow's create_run, set_terminated, update_run)."""
    if body.get("state"):
        db.execute(
            "UPDATE runs SET said_state = ?1, said_ended_us = ?2, said_us = ?3"
            " WHERE run_id = ?4 AND said_us <= ?3",
            (body["state"], body.get("ended_us"), record.time_us, header.run_id),
        )
    _start(db, header, segment_id, record, body)


def _deleted(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """The newest word stands: a deletion and its repeal may be in segments read in any order."""
    db.execute(
        "UPDATE runs SET deleted = ?1, deleted_us = ?2 WHERE run_id = ?3 AND deleted_us <= ?2",
        (int(bool(body.get("deleted"))), record.time_us, header.run_id),
    )


def _ended(
    db: sqlite3.Connection, header: Header, segment_id: int, record: Record, body: dict[str, Any]
) -> None:
    """What a watcher saw of a process that ended without a last word of its own."""
    strand = (header.run_id, body["host"], body["pid"], body["start_us"])
    row = (*strand, body["ended_us"], json.dumps(body["error"]))
    db.execute("INSERT OR REPLACE INTO ends VALUES (?, ?, ?, ?, ?, ?)", row)
