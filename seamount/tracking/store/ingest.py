"""From segments into the index: incremental, and exactly once whatever dies in the middle.

One transaction takes a piece of one segment: what its points add to the summaries, its events, and
the position up to which the segment has been read. Either all are in the index or none is, so a
killed reader redoes nothing and skips nothing. Sealed and unsealed segments are read alike. The
points themselves stay where they are until points/compaction makes columns of them.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import CorruptData
from seamount.tracking.names import check_run_id
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder, Header, Record
from seamount.tracking.segments.reader import header_of
from seamount.tracking.segments.strands import segment_files, writer_lives
from seamount.tracking.store import aggregates
from seamount.tracking.store.aggregates import Aggregate
from seamount.tracking.store.events import apply_event
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import joins, touch_descendants
from seamount.tracking.store.schema import next_revision, transaction
from seamount.tracking.store.settle import settle

if TYPE_CHECKING:
    from seamount.tracking.store.folder import Store

log = logging.getLogger("seamount.tracking")

PIECE_BYTES = 1 << 23
# What records of a faulty (or hostile) writer raise: no such key, another type, too large.
_SENSELESS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    sqlite3.IntegrityError, sqlite3.InterfaceError, sqlite3.ProgrammingError,
)  # fmt: skip
_QUIET_S = 2.0


def ingest(store: Store, index: Index, run_id: str | None = None, *, light: bool = False) -> None:
    """Take what is new in the segments of one run, or of all, into the index.

    `light` reads record by record, so that numpy is not imported; so does a place without it.
    """
    light = light or importlib.util.find_spec("numpy") is None
    known = dict(index.db.execute("SELECT run_id, quiet_ns FROM runs"))
    root = store.segments
    for each in store.run_ids() if run_id is None else _with_ancestors(index, check_run_id(run_id)):
        try:
            changed_ns = os.stat(f"{root}/{each}").st_mtime_ns  # no Path: there may be thousands
        except FileNotFoundError:
            continue
        if known.get(each) == changed_ns:
            continue
        try:
            _ingest_run(store, index, each, changed_ns, new=each not in known, light=light)
        except FileNotFoundError:
            continue  # a run that is being removed for good (upkeep/removal.py)
        except (CorruptData, OSError, *_SENSELESS) as error:  # one run must not hide the others
            log.warning("run %s is left out: %s", each, error)


def _with_ancestors(index: Index, run_id: str) -> Iterator[str]:
    """A run, then those whose points come before its own; a run is asked once it is taken in."""
    seen: set[str] = set()
    while run_id not in seen:
        yield run_id
        seen.add(run_id)
        query = "SELECT fork_run_id FROM runs WHERE run_id = ? AND fork_run_id NOT NULL"
        for (parent,) in index.db.execute(query, (run_id,)).fetchall():
            run_id = parent


def _ingest_run(
    store: Store, index: Index, run_id: str, changed_ns: int, *, new: bool, light: bool
) -> None:
    if new and not _add_run(store, index, run_id):
        return  # its first process is between making the folder and naming the run
    rows = {row["file"]: row for row in index.segments(run_id)}
    finished = [
        _ingest_segment(index, run_id, path, rows.get(path.name, {}), light)
        for path in segment_files(store.run_folder(run_id))
    ]
    if finished and all(finished) and time.time() - changed_ns / 1e9 > _QUIET_S:
        # Nothing more can come unless the folder changes: later passes skip this run.
        index.db.execute("UPDATE runs SET quiet_ns = ? WHERE run_id = ?", (changed_ns, run_id))


def _add_run(store: Store, index: Index, run_id: str) -> bool:
    identity = store.identity(run_id)
    if identity is None:
        return False
    with transaction(index.db):
        index.db.execute(
            "INSERT OR IGNORE INTO runs (run_id, project, name, owner, created_us, fork_run_id,"
            " fork_step, state, revision) VALUES (?, ?, ?, ?, ?, ?, ?, 'Running', ?)",
            (run_id, identity.project, identity.name, identity.owner, identity.created_us,
             identity.fork_run_id, identity.fork_step, next_revision(index.db)),
        )  # fmt: skip
        if identity.inherited_configs:
            # At time 0: the run's own come after it, whatever its host's clock says.
            index.db.execute(
                "INSERT OR IGNORE INTO configs VALUES (?, 0, 0, 0, ?, ?)",
                (run_id, json.dumps(identity.inherited_configs), identity.fork_run_id),
            )
    return True


def _ingest_segment(
    index: Index, run_id: str, path: Path, row: dict[str, Any], light: bool
) -> bool:
    """Read what is new in one segment; True where no more will come."""
    if row.get("state") == "sealed":
        return True
    try:
        header = header_of(path)
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
        with transaction(index.db):
            piece = _Piece.begin(index, run_id, path, *header)
            piece.light = light
            more = piece.read(path, size)
            piece.save(ended=not lives and not more)
        if not more:
            return piece.sealed or not lives


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
    light: bool = False
    end: tuple[str | None, int, str | None] | None = None
    series: dict[str, tuple[int, Aggregate]] = field(default_factory=dict)
    new_sets: list[int] = field(default_factory=list)

    @classmethod
    def begin(cls, index: Index, run_id: str, path: Path, header: Header, start: int) -> _Piece:
        """The piece that follows what the index has of `path`."""
        index.db.execute(
            "INSERT OR IGNORE INTO segments (run_id, file, host, rank, pid, role, attempt, part,"
            " start_us, first, position, compacted)"
            " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12"
            " WHERE EXISTS (SELECT 1 FROM runs WHERE run_id = ?1)",
            (run_id, path.name, header.host, header.rank, header.pid, header.role, header.attempt,
             header.part, header.start_us, start, start, start),
        )  # fmt: skip
        query = "SELECT id, position FROM segments WHERE run_id = ? AND file = ?"
        known = index.db.execute(query, (run_id, path.name)).fetchone()
        if known is None:
            raise FileNotFoundError(f"run {run_id} was removed just now")
        segment_id, position = known
        query = "SELECT set_id, names FROM sets WHERE segment_id = ?"
        sets = {i: tuple(json.loads(n)) for i, n in index.db.execute(query, (segment_id,))}
        # A folder copied under another run id keeps working.
        return cls(index, replace(header, run_id=run_id), segment_id, position, Decoder(sets))

    def read(self, path: Path, end: int) -> bool:
        """Decode up to PIECE_BYTES and count the records; True if more is left below `end`."""
        limit = PIECE_BYTES
        while True:
            with path.open("rb") as stream:
                stream.seek(self.position)
                content = stream.read(limit)
            self._one_by_one(content) if self.light else self._at_once(content)
            if self.decoder.consumed or len(content) < limit or limit > codec.MAX_BODY_BYTES:
                break
            limit = codec.MAX_BODY_BYTES + 64  # one record larger than a piece
        self.position += self.decoder.consumed
        more = self.decoder.consumed > 0 and self.position < end
        self.torn_bytes = 0 if more else max(end - self.position, 0)
        return more

    def _one_by_one(self, content: bytes) -> None:
        for record in self.decoder.records(content):
            if record.kind != codec.METRICS:
                self._other(record)
                continue
            names, step, values = record.body
            self.records += 1
            self.points += len(names)
            for name, value in zip(names, values, strict=True):
                if record.preview is None:
                    self._aggregate(name).add(step, record.time_us, record.sequence, value)
                else:
                    self._aggregate(name).previews += 1

    def _at_once(self, content: bytes) -> None:
        from seamount.tracking.segments.blocks import read_blocks

        blocks, others = read_blocks(self.decoder, content)
        for block in blocks:
            self.records += len(block.values)
            self.points += block.values.size
            for name, found in zip(block.names, aggregates.of_block(block), strict=True):
                self._aggregate(name).merge(found)
        for record in others:
            self._other(record)

    def _other(self, record: Record) -> None:
        self.records += 1
        if record.kind == codec.KEYS:
            self.new_sets.append(record.body[0])
        else:
            self._event(record)

    def _aggregate(self, name: str) -> Aggregate:
        known = self.series.get(name)
        if known is not None:
            return known[1]
        key = (self.header.run_id, name, self.header.rank, self.header.attempt)
        db = self.index.db
        db.execute(
            "INSERT OR IGNORE INTO series (run_id, name, rank, attempt) VALUES (?, ?, ?, ?)", key
        )
        query = "SELECT id FROM series WHERE run_id = ? AND name = ? AND rank = ? AND attempt = ?"
        series_id = db.execute(query, key).fetchone()[0]
        self.series[name] = (series_id, Aggregate())
        return self.series[name][1]

    def _event(self, record: Record) -> None:
        body = record.body if isinstance(record.body, dict) else {}
        if record.kind == codec.SEAL:
            self.sealed = True
            error = json.dumps(body["error"]) if body.get("error") else None
            self.end = (body.get("state"), record.time_us, error)
            return
        try:
            apply_event(self.index.db, self.header, self.segment_id, record, body)
        except _SENSELESS as error:  # nor one event the rest of its run
            self.decoder.damaged += 1
            log.warning("an event of run %s is left out: %s", self.header.run_id, error)

    def save(self, *, ended: bool) -> None:
        """Write the position, the summaries and the run's state: the same transaction."""
        db = self.index.db
        revision = next_revision(db)
        db.executemany(
            "INSERT OR REPLACE INTO sets VALUES (?, ?, ?)",
            [(self.segment_id, i, json.dumps(self.decoder.sets[i])) for i in set(self.new_sets)],
        )
        for series_id, aggregate in self.series.values():
            aggregate.save(db, series_id, revision)
        lent = [a.min_step for name, (_, a) in self.series.items() if a.points and joins(name)]
        touch_descendants(db, self.header.run_id, revision, min(lent, default=None))
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
