"""Where the points of a run are at one moment: its Parquet parts, and behind them the tails.

Parts never change and segments only grow, so the lists of one transaction stay true for as long as
the files are there.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.tracking.segments.codec import Decoder
from seamount.tracking.store.index import Index

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Rows

log = logging.getLogger("seamount.tracking")

Label = tuple[str, int, int]  # name, rank, attempt


@dataclass(frozen=True)
class Tail:
    """The records of a segment that are in no part: the bytes from `start` to `end` of `path`."""

    segment: int
    path: Path
    rank: int
    attempt: int
    start: int
    end: int
    sets: dict[int, tuple[str, ...]]


@dataclass(frozen=True)
class Snapshot:
    """Where the points of a run were at one moment; `ids` maps the series asked for to their ids.

    `first_steps` gives the lowest step of each id, None where it has previews only.
    """

    parts: list[Path]
    tails: list[Tail]
    ids: dict[Label, int]
    first_steps: dict[int, Any]

    @property
    def labels(self) -> dict[int, Label]:
        """Series id -> (name, rank, attempt)."""
        return {number: label for label, number in self.ids.items()}

    def newest(self) -> dict[tuple[str, int], int]:
        """(name, rank) -> the series id of its newest attempt."""
        return {(name, rank): number for (name, rank, _), number in sorted(self.ids.items())}

    def hidden_from(self) -> dict[int, Any]:
        """Series id -> the step from which later attempts of the rank stand in its place."""
        return replaced_from(
            ((name, rank), attempt, number, self.first_steps[number])
            for (name, rank, attempt), number in self.ids.items()
        )


def replaced_from(series: Iterable[tuple[Any, int, int, Any]]) -> dict[int, Any]:
    """Series id -> lowest step of the later attempts, for (metric, attempt, id, lowest step).

    Previews hide nothing: an attempt that has nothing else has the lowest step None.
    """
    found: dict[int, Any] = {}
    lowest: dict[Any, Any] = {}
    for metric, _, number, step in sorted(series, key=lambda row: (row[0], -row[1])):
        if metric in lowest:
            found[number] = lowest[metric]
        if step is not None:
            lowest[metric] = min(step, lowest.get(metric, step))
    return found


def snapshot(
    index: Index,
    run_id: str,
    name: str | None = None,
    rank: int | None = None,
    attempt: int | None = None,
) -> Snapshot:
    """Where the points (of a metric, of an attempt) now are, as one transaction sees it."""
    with _moment(index):
        return _snapshot(index, run_id, name, rank, attempt)


def all_snapshots(index: Index, also: Iterable[str] = ()) -> dict[str, Snapshot]:
    """Run id -> its snapshot, of every run that is not deleted (and of `also`), at one moment.

    `ids` are there only where a tail needs them.
    """
    with _moment(index):
        visible = (
            "run_id IN (SELECT run_id FROM runs WHERE NOT deleted"
            " UNION SELECT value FROM json_each(?))"
        )
        more = (json.dumps(list(also)),)
        query = f"SELECT DISTINCT run_id FROM segments WHERE position > compacted AND {visible}"
        found = {run_id: _snapshot(index, run_id) for (run_id,) in index.db.execute(query, more)}
        query = f"SELECT run_id, file FROM parts WHERE {visible}"
        for run_id, file in index.db.execute(query, more):
            if run_id not in found:
                found[run_id] = Snapshot([], [], {}, {})
            if not found[run_id].tails:
                found[run_id].parts.append(index.folder / "points" / run_id / file)
        return found


@contextmanager
def _moment(index: Index) -> Iterator[None]:
    """A transaction that only reads: all that is asked in it is as of one moment."""
    index.db.execute("BEGIN")
    try:
        yield
    finally:
        index.db.execute("COMMIT")


def _snapshot(
    index: Index,
    run_id: str,
    name: str | None = None,
    rank: int | None = None,
    attempt: int | None = None,
) -> Snapshot:
    series = index.db.execute(
        "SELECT name, rank, attempt, id, min_step FROM series WHERE run_id = ?1"
        " AND points + previews > 0"
        " AND (?2 IS NULL OR name = ?2) AND (?3 IS NULL OR rank = ?3)"
        " AND (?4 IS NULL OR attempt = ?4)",
        (run_id, name, rank, attempt),
    ).fetchall()
    parts = index.db.execute("SELECT file FROM parts WHERE run_id = ?", (run_id,)).fetchall()
    folder = index.folder / "points" / run_id
    return Snapshot(
        [folder / file for (file,) in parts],
        read_tails(index, run_id),
        {(row[0], row[1], row[2]): row[3] for row in series},
        {row[3]: row[4] for row in series},
    )


def read_tails(index: Index, run_id: str) -> list[Tail]:
    """The segments of a run that hold records behind what the parts have."""
    folder = index.folder / "segments" / run_id
    rows = index.db.execute(
        "SELECT id, file, rank, attempt, compacted, position FROM segments"
        " WHERE run_id = ? AND position > compacted ORDER BY id",
        (run_id,),
    ).fetchall()
    query = "SELECT set_id, names FROM sets WHERE segment_id = ?"
    return [
        Tail(number, folder / file, rank, attempt, start, end,
             {i: tuple(json.loads(names)) for i, names in index.db.execute(query, (number,))})
        for number, file, rank, attempt, start, end in rows
    ]  # fmt: skip


def tail_points(found: Snapshot) -> Rows:
    """The points of the snapshot's series that are in no part, in order."""
    from seamount.tracking.points.columns import joined

    pieces: list[Rows] = []
    for tail in found.tails:
        pieces += tail_rows(tail, tail_bytes(tail, tail.end), found.ids)[0]
    return joined(pieces).in_order()


def tail_bytes(tail: Tail, end: int) -> bytes:
    """The bytes of a tail up to `end`; none where the segment was taken away."""
    try:
        with tail.path.open("rb") as stream:
            stream.seek(tail.start)
            return stream.read(end - tail.start)
    except FileNotFoundError:
        log.warning("%s is gone: points that were only there are left out", tail.path)
        return b""


def tail_rows(tail: Tail, content: bytes, ids: dict[Label, int]) -> tuple[list[Rows], int]:
    """(points of the series in `ids`, bytes that whole records took) of a tail's `content`."""
    from seamount.tracking.points.columns import rows_of
    from seamount.tracking.segments.blocks import read_blocks

    decoder, pieces = Decoder(dict(tail.sets)), []
    for block in read_blocks(decoder, content)[0]:
        numbers = [ids.get((name, tail.rank, tail.attempt)) for name in block.names]
        if any(number is not None for number in numbers):
            pieces.append(rows_of(block, numbers, tail.segment))
    return pieces, decoder.consumed
