"""Puts the points of segments into Parquet parts, in the background of readers.

A part is written under a temporary name and flushed; then one transaction checks that nobody else
was faster, gives the file its name, lists it, and moves the offsets of the segments it covers. So a
point is in a listed part or behind the offset, never both, never neither, whenever this process
dies. What a dead one left is in no list, and the next to compact the run removes it.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seamount.core import locks
from seamount.core.durable import fsync_folder
from seamount.core.errors import CorruptData
from seamount.tracking.points.history import has_columns, whole
from seamount.tracking.points.snapshots import (
    Label,
    Tail,
    read_tails,
    snapshot,
    tail_bytes,
    tail_rows,
)
from seamount.tracking.segments import codec
from seamount.tracking.store.index import Index
from seamount.tracking.store.schema import transaction

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Rows

log = logging.getLogger("seamount.tracking")

TAIL_BYTES = 1 << 20  # of a run: what a reader decodes in a few hundredths of a second
ENDED_TAIL_BYTES = 1 << 16  # of a run that has ended; less is not worth a file
PIECE_BYTES = 1 << 23  # of segments, a part
MERGED_PARTS = 8
MERGED_ROWS = 1 << 22
BUDGET_S = 0.5

_DUE = """SELECT run_id FROM segments WHERE position > compacted AND (?1 IS NULL OR run_id = ?1)
    GROUP BY run_id HAVING sum(position - compacted) > ?2
    OR (sum(position - compacted) > ?3 AND max(state = 'open') = 0)
    UNION SELECT run_id FROM parts WHERE rows <= ?4 AND (?1 IS NULL OR run_id = ?1)
    GROUP BY run_id, level HAVING count(*) >= ?5"""


class Overtaken(Exception):
    """Another process compacted the same points first."""


@dataclass(frozen=True)
class Move:
    """A segment's points between two offsets go into a part."""

    segment: int
    start: int
    end: int


def compact_due(index: Index, run_id: str | None = None, budget_s: float = BUDGET_S) -> None:
    """Compact the runs (or the one) with long tails; no new part is begun after `budget_s`."""
    merged = (MERGED_ROWS // MERGED_PARTS, MERGED_PARTS)
    values = (run_id, TAIL_BYTES, ENDED_TAIL_BYTES, *merged)
    due = [row[0] for row in index.db.execute(_DUE, values)]
    if not due or not has_columns():
        return
    until = time.monotonic() + budget_s
    for each in due:
        try:
            compact_run(index, each, until)
        except (OSError, CorruptData, sqlite3.OperationalError) as error:
            # A full disk must keep nobody from reading.
            log.warning("points of run %s stay in its segments: %s", each, error)
        if time.monotonic() > until:
            return


def compact_run(index: Index, run_id: str, until: float | None = None) -> bool:
    """Put all points of a run that were taken in into parts, and merge small parts.

    Begins no part after the monotonic time `until`. False where another process is at it.
    """
    folder = index.folder / "points" / run_id
    folder.mkdir(parents=True, exist_ok=True)
    with locks.tried(folder / ".lock") as mine:
        if not mine:
            return False
        sweep(index, run_id, folder)
        steps = (
            lambda: whole(index, run_id, lambda: _merge(index, run_id, folder)),
            lambda: _compact_piece(index, run_id, folder),
        )
        try:
            # Merging comes first: a writer that keeps the other step busy must not starve it.
            while any([step() for step in steps]):
                if until is not None and time.monotonic() > until:
                    break
        except Overtaken:
            return False
    return True


def sweep(index: Index, run_id: str, folder: Path) -> None:
    """Remove files that no list names: left by a process that died, or merged into others."""
    # Files get their names within write transactions, so none can appear during this one.
    with transaction(index.db):
        listed = {file for file, *_ in _parts(index, run_id)}
        for name in os.listdir(folder):
            if name not in listed and name != ".lock":
                (folder / name).unlink(missing_ok=True)


def _parts(index: Index, run_id: str) -> list[tuple[str, int, int]]:
    query = "SELECT file, rows, level FROM parts WHERE run_id = ? ORDER BY rows, file"
    return index.db.execute(query, (run_id,)).fetchall()


def _compact_piece(index: Index, run_id: str, folder: Path) -> bool:
    """Make one part of what comes next; False where nothing is left."""
    from seamount.tracking.points.columns import joined

    ids = snapshot(index, run_id).ids
    room, pieces, moves = PIECE_BYTES, [], []
    for tail in read_tails(index, run_id):
        if not tail.path.exists():
            continue  # taken away: if it comes back, its points still count
        rows, move = _next_of(tail, room, ids)
        pieces += rows
        moves.append(move)
        room -= move.end - move.start
        if room <= 0:
            break
    if not moves:
        return False
    _publish(index, run_id, folder, joined(pieces).in_order(), ids, moves, [])
    return True


def _next_of(tail: Tail, room: int, ids: dict[Label, int]) -> tuple[list[Rows], Move]:
    for limit in (max(room, 1 << 12), codec.MAX_BODY_BYTES + 64):
        end = min(tail.end, tail.start + limit)
        rows, consumed = tail_rows(tail, tail_bytes(tail, end), ids)
        if end == tail.end:  # what is left there holds no record: the index has read past it
            return rows, Move(tail.segment, tail.start, end)
        if consumed:
            break  # else one record larger than a piece
    return rows, Move(tail.segment, tail.start, tail.start + consumed)


def _merge(index: Index, run_id: str, folder: Path) -> bool:
    """Make one part of several of one level; False where there are too few."""
    from seamount.tracking.points.columns import joined
    from seamount.tracking.points.parts import read_part

    by_level: dict[int, list[str]] = {}
    for file, rows, level in _parts(index, run_id):
        if rows <= MERGED_ROWS // MERGED_PARTS:
            by_level.setdefault(level, []).append(file)
    for files in by_level.values():
        if len(files) >= MERGED_PARTS:
            taken = files[:MERGED_PARTS]
            pieces = [read_part(folder / file) for file in taken]
            ids = snapshot(index, run_id).ids
            _publish(index, run_id, folder, joined(pieces).in_order(), ids, [], taken)
            return True
    return False


def level_of(rows: int) -> int:
    """Parts of one level are of about one size: each level is eight times the one before."""
    return max(0, rows.bit_length() - 14) // 3


def _publish(
    index: Index,
    run_id: str,
    folder: Path,
    rows: Rows,
    ids: dict[Label, int],
    moves: list[Move],
    replaced: list[str],
) -> None:
    """The part of `rows` takes the place of the moved bytes and the replaced parts, or nothing."""
    temporary, final, size = folder / f".{os.urandom(8).hex()}.new", Path(), 0
    try:
        if len(rows):
            from seamount.tracking.points.parts import write_part

            size = write_part(temporary, rows, {number: label for label, number in ids.items()})
            final = folder / f"{time.time_ns() // 1000:x}-{os.urandom(4).hex()}.parquet"
        with transaction(index.db):
            _claim(index, run_id, moves, replaced)
            if len(rows):
                os.rename(temporary, final)
                fsync_folder(folder)  # the list must not outlive a power cut without the file
                index.db.execute(
                    "INSERT INTO parts VALUES (?, ?, ?, ?, ?)",
                    (run_id, final.name, len(rows), size, level_of(len(rows))),
                )
    finally:
        temporary.unlink(missing_ok=True)
    discard([folder / file for file in replaced])


def _claim(index: Index, run_id: str, moves: list[Move], replaced: list[str]) -> None:
    """Take moved bytes and replaced parts, unless another process has (then roll back)."""
    for move in moves:
        changed = index.db.execute(
            "UPDATE segments SET compacted = ? WHERE id = ? AND compacted = ?",
            (move.end, move.segment, move.start),
        )
        if changed.rowcount != 1:
            raise Overtaken
    for file in replaced:
        query = "DELETE FROM parts WHERE run_id = ? AND file = ?"
        if index.db.execute(query, (run_id, file)).rowcount != 1:
            raise Overtaken


def discard(files: list[Path]) -> None:
    """Remove parts that others replaced; a reader that still had them on its list reads again."""
    for file in files:
        file.unlink(missing_ok=True)
