"""The state of a run, derived from how its processes ended."""

from __future__ import annotations

import sqlite3
from typing import Any

from seamount.tracking.endings import COMPLETED, FAILED, INTERRUPTED, KILLED, RUNNING


def settle(db: sqlite3.Connection, run_id: str, revision: int) -> None:
    """Write the run's state, end and error after its segments changed.

    Of each rank the newest attempt counts, of it every process made by Run (no forked child): one
    that still lives -> Running; else one failed -> Failed; else one gone without a word -> Killed;
    else one stopped on request -> Interrupted; else Completed. What a client said later than that
    (MLflow's set_terminated) stands instead.
    """
    ends = _newest_ends(db, run_id)
    state, ended_us, error = _judge(ends)
    said_state, said_us, said_ended_us = db.execute(
        "SELECT said_state, said_us, said_ended_us FROM runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    newest_start = max((end["start_us"] for end in ends), default=0)
    if said_state and (not ends or (said_us >= newest_start and state != RUNNING)):
        state, ended_us = said_state, None if said_state == RUNNING else said_ended_us or said_us
    db.execute(
        "UPDATE runs SET state = ?, ended_us = ?, error = ?, revision = ? WHERE run_id = ?",
        (state, ended_us, error, revision, run_id),
    )


def _newest_ends(db: sqlite3.Connection, run_id: str) -> list[dict[str, Any]]:
    """The last part of every main process of each rank's newest attempt."""
    columns = (
        "rank",
        "attempt",
        "host",
        "pid",
        "start_us",
        "part",
        "state",
        "end_state",
        "end_us",
        "error",
    )
    rows = [
        dict(zip(columns, row, strict=True))
        for row in db.execute(
            f"SELECT {', '.join(columns)} FROM segments WHERE run_id = ? AND role = 'main'"
            " ORDER BY part",
            (run_id,),
        )
    ]
    newest = {row["rank"]: 0 for row in rows}
    for row in rows:
        newest[row["rank"]] = max(newest[row["rank"]], row["attempt"])
    last_parts = {
        (row["host"], row["pid"], row["start_us"]): row
        for row in rows
        if row["attempt"] == newest[row["rank"]]
    }
    for end_us, error, *process in db.execute(
        "SELECT end_us, error, host, pid, start_us FROM ends WHERE run_id = ?", (run_id,)
    ):
        seen = last_parts.get(tuple(process))
        if seen is not None and seen["end_state"] is None:  # its watcher knows more than its file
            seen |= {"end_us": end_us, "error": error}
    return list(last_parts.values())


def _judge(ends: list[dict[str, Any]]) -> tuple[str, int | None, str | None]:
    """(state, end in microseconds, error as JSON) of a run whose processes ended like this."""
    if not ends or any(_state(end) == RUNNING for end in ends):
        return RUNNING, None, None
    ended_us = max((end["end_us"] or end["start_us"] for end in ends), default=None)
    for state in (FAILED, KILLED, INTERRUPTED, COMPLETED):
        for end in ends:
            if _state(end) == state:
                error = next((e["error"] for e in ends if e["error"]), None)
                return state, ended_us, error
    return KILLED, ended_us, None


def _state(end: dict[str, Any]) -> str:
    if end["state"] == "open":
        return RUNNING
    # Without a last word: killed while logging, or between two parts of a rotated segment.
    return str(end["end_state"] or KILLED)
