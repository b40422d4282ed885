"""From segments into the index: incremental, and exactly once whatever dies in the middle.

One transaction takes a piece of one segment: its points, and the position up to which the segment
has been read. Either both are in the index or neither is, so a killed reader redoes nothing and
skips nothing. Sealed and unsealed segments are read alike.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.tracking import segments
from seamount.tracking.events import apply_event
from seamount.tracking.index import Index
from seamount.tracking.segments import Decoder, Header, Record
from seamount.tracking.settle import settle
from seamount.tracking.store import Store
from seamount.tracking.strands import segment_files, writer_lives

log = logging.getLogger("seamount.tracking")

PIECE_BYTES = 1 << 23
_QUIET_S = 2.0


def ingest(store: Store, index: Index, run_id: str | None = None) -> None:
    """Take what is new in the segments of one run, or of all, into the index."""
    known = dict(index.db.execute("SELECT run_id, quiet_ns FROM runs"))
    for each in store.run_ids() if run_id is None else [run_id]:
        folder = store.run_folder(each)
        try:
            changed_ns = folder.stat().st_mtime_ns
        except FileNotFoundError:
            continue
        if known.get(each) == changed_ns:
            continue
        try:
            _ingest_run(store, index, each, changed_ns, new=each not in known)
        except CorruptData as error:  # one damaged run must not hide the others
            log.warning("run %s is left out: %s", each, error)


def _ingest_run(store: Store, index: Index, run_id: str, changed_ns: int, *, new: bool) -> None:
    if new and not _add_run(store, index, run_id):
        return  # its first process is between making the folder and naming the run
    rows = {row["file"]: row for row in index.segments(run_id)}
    finished = [
        _ingest_segment(index, run_id, path, rows.get(path.name, {}))
        for path in segment_files(store.run_folder(run_id))
    ]
    if finished and all(finished) and time.time() - changed_ns / 1e9 > _QUIET_S:
        # Nothing more can come unless the folder changes: later passes skip this run.
        index.db.execute("UPDATE runs SET quiet_ns = ? WHERE run_id = ?", (changed_ns, run_id))


def _add_run(store: Store, index: Index, run_id: str) -> bool:
    identity = store.identity(run_id)
    if identity is None:
        return False
    with transaction(index):
        index.db.execute(
            "INSERT OR IGNORE INTO runs (run_id, project, name, owner, created_us, state, revision)"
            " VALUES (?, ?, ?, ?, ?, 'Running', ?)",
            (run_id, identity.project, identity.name, identity.owner, identity.created_us,
             _next_revision(index)),
        )  # fmt: skip
    return True


def _ingest_segment(index: Index, run_id: str, path: Path, row: dict[str, Any]) -> bool:
    """Read what is new in one segment; True where no more will come."""
    if row.get("state") == "sealed":
        return True
    try:
        header = _read_header(path)
    except CorruptData as error:
        log.warning("%s; it is left out (`seamount track verify %s`)", error, run_id)
        return False
    # Asked before the last read: what a dead writer wrote is then all there.
    lives = writer_lives(path, header[0].host)
    size = path.stat().st_size  # a writer faster than this reader must not keep it for ever
    read_bytes = row.get("position", -1)
    if row.get("state") == "dead":
        read_bytes += row["torn_bytes"]  # looked at, and of no use
    elif not lives:
        read_bytes = -1  # its end is not in the index yet
    if size <= read_bytes:
        return not lives
    while True:
        with transaction(index):
            piece = _Piece.begin(index, run_id, path, *header)
            more = piece.read(path, size)
            piece.save(ended=not lives and not more)
        if not more:
            return piece.sealed or not lives


def _read_header(path: Path) -> tuple[Header, int]:
    """A segment's header and where its records begin; a file gets its name after both."""
    with path.open("rb") as stream:
        found = segments.read_header(stream.read(1 << 16), str(path))
    if found is None:
        raise CorruptData(f"{path} has no whole header")
    return found


class transaction:
    """BEGIN IMMEDIATE ... COMMIT, or ROLLBACK on any exception."""

    def __init__(self, index: Index) -> None:
        self._db = index.db

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _next_revision(index: Index) -> int:
    index.db.execute("UPDATE identity SET revision = revision + 1")
    return index.identity[1]


@dataclass
class _Aggregate:
    """What a piece adds to one series."""

    points: int = 0
    bad: int = 0
    min_step: Any = None
    last: Any = None  # (step, time_us, value)
    min_value: float | None = None
    max_value: float | None = None

    def add(self, step: float, time_us: int, value: float) -> None:
        self.points += 1
        if self.min_step is None or step < self.min_step:
            self.min_step = step
        if self.last is None or (step, time_us) >= self.last[:2]:
            self.last = (step, time_us, value)
        if value - value != 0:  # NaN or infinite
            self.bad += 1
            return
        if self.min_value is None or value < self.min_value:
            self.min_value = value
        if self.max_value is None or value > self.max_value:
            self.max_value = value


@dataclass
class _Piece:
    """One transaction's work on one segment."""

    index: Index
    header: Header
    segment_id: int
    position: int
    decoder: Decoder
    records: int = 0
    points: int = 0
    torn_bytes: int = 0
    sealed: bool = False
    end: tuple[str | None, int, str | None] | None = None
    series: dict[str, tuple[int, _Aggregate]] = field(default_factory=dict)
    new_sets: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, index: Index, run_id: str, path: Path, header: Header, start: int) -> _Piece:
        """The piece that follows what the index has of `path`."""
        index.db.execute(
            "INSERT OR IGNORE INTO segments (run_id, file, host, rank, pid, role, attempt, part,"
            " start_us, position) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (run_id, path.name, header.host, header.rank, header.pid, header.role, header.attempt,
             header.part, header.start_us, start),
        )  # fmt: skip
        query = "SELECT id, position FROM segments WHERE run_id = ? AND file = ?"
        segment_id, position = index.db.execute(query, (run_id, path.name)).fetchone()
        query = "SELECT set_id, names FROM sets WHERE segment_id = ?"
        sets = {i: tuple(json.loads(n)) for i, n in index.db.execute(query, (segment_id,))}
        # A folder copied under another run id keeps working.
        return cls(index, replace(header, run_id=run_id), segment_id, position, Decoder(sets))

    def read(self, path: Path, end: int) -> bool:
        """Decode up to PIECE_BYTES and insert the records; True if more is left below `end`."""
        limit = PIECE_BYTES
        while True:
            with path.open("rb") as stream:
                stream.seek(self.position)
                content = stream.read(limit)
            rows = self._rows(content)
            self.index.db.executemany(_INSERT_POINT, rows)
            if self.decoder.consumed or len(content) < limit or limit > segments.MAX_BODY_BYTES:
                break
            limit = segments.MAX_BODY_BYTES + 64  # one record larger than a piece
        self.position += self.decoder.consumed
        more = self.decoder.consumed > 0 and self.position < end
        self.torn_bytes = 0 if more else max(end - self.position, 0)
        return more

    def _rows(self, content: bytes) -> Iterator[tuple[Any, ...]]:
        """The points of the records in `content`; events go to their tables on the way."""
        segment_id = self.segment_id
        for record in self.decoder.records(content):
            self.records += 1
            if record.kind == segments.METRICS:
                names, step, values = record.body
                self.points += len(names)
                time_us, sequence = record.time_us, record.sequence
                for name, value in zip(names, values, strict=True):
                    series_id, aggregate = self.series.get(name) or self._series(name)
                    aggregate.add(step, time_us, value)
                    yield series_id, segment_id, sequence, step, time_us, value
            elif record.kind == segments.KEYS:
                self.new_sets.append(record.body[0])
            else:
                self._event(record)

    def _series(self, name: str) -> tuple[int, _Aggregate]:
        key = (self.header.run_id, name, self.header.rank, self.header.attempt)
        db = self.index.db
        db.execute(
            "INSERT OR IGNORE INTO series (run_id, name, rank, attempt) VALUES (?, ?, ?, ?)", key
        )
        query = "SELECT id FROM series WHERE run_id = ? AND name = ? AND rank = ? AND attempt = ?"
        series_id = db.execute(query, key).fetchone()[0]
        self.series[name] = (series_id, _Aggregate())
        return self.series[name]

    def _event(self, record: Record) -> None:
        body = record.body if isinstance(record.body, dict) else {}
        if record.kind == segments.SEAL:
            self.sealed = True
            error = json.dumps(body["error"]) if body.get("error") else None
            self.end = (body.get("state"), record.time_us, error)
        else:
            apply_event(self.index.db, self.header, self.segment_id, record, body)

    def save(self, *, ended: bool) -> None:
        """Write the position, the summaries and the run's state: the same transaction."""
        db = self.index.db
        revision = _next_revision(self.index)
        db.executemany(
            "INSERT OR REPLACE INTO sets VALUES (?, ?, ?)",
            [(self.segment_id, i, json.dumps(self.decoder.sets[i])) for i in set(self.new_sets)],
        )
        db.executemany(_MERGE, [_merge_row(revision, i, a) for i, a in self.series.values()])
        state = "sealed" if self.sealed else "dead" if ended else "open"
        end_state, end_us, error = self.end or (None, None, None)
        db.execute(
            "UPDATE segments SET position = ?, records = records + ?, points = points + ?,"
            " damaged = damaged + ?, torn_bytes = ?, state = ?, end_state = ?, end_us = ?,"
            " error = ? WHERE id = ?",
            (self.position, self.records, self.points, self.decoder.damaged, self.torn_bytes,
             state, end_state, end_us, error, self.segment_id),
        )  # fmt: skip
        settle(db, self.header.run_id, revision)


_INSERT_POINT = "INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, ?, ?)"

_MERGE = """UPDATE series SET
    points = points + :points, bad = bad + :bad,
    min_step = CASE WHEN min_step IS NULL OR :min_step < min_step THEN :min_step ELSE min_step END,
    last_value = CASE WHEN last_step IS NULL OR (:step, :us) >= (last_step, last_us)
                      THEN :value ELSE last_value END,
    last_us = CASE WHEN last_step IS NULL OR (:step, :us) >= (last_step, last_us)
                   THEN :us ELSE last_us END,
    last_step = CASE WHEN last_step IS NULL OR :step >= last_step THEN :step ELSE last_step END,
    min_value = min(ifnull(min_value, :min), ifnull(:min, min_value)),
    max_value = max(ifnull(max_value, :max), ifnull(:max, max_value)),
    revision = :revision WHERE id = :id"""


def _merge_row(revision: int, series_id: int, a: _Aggregate) -> dict[str, Any]:
    step, time_us, value = a.last
    return {
        "id": series_id, "revision": revision, "points": a.points, "bad": a.bad,
        "min_step": a.min_step, "step": step, "us": time_us, "value": value,
        "min": a.min_value, "max": a.max_value,
    }  # fmt: skip
