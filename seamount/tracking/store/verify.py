"""Proof that a run is whole: every strand's sequence without a gap, every file with its digest."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.tracking.artifacts import blob_path, digest_of
from seamount.tracking.points import history
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.reader import SegmentReader, header_of
from seamount.tracking.segments.strands import segment_files, writer_lives
from seamount.tracking.store import lineage
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index


@dataclass
class Strand:
    """What one process logged: `gaps` are [first, last] missing sequence numbers."""

    host: str
    rank: int
    pid: int
    attempt: int
    role: str
    segments: int = 0
    records: int = 0
    points: int = 0
    state: str = "open"
    gaps: list[list[int]] = field(default_factory=list)
    damaged_records: int = 0
    unread_bytes: int = 0
    next_sequence: int = 0

    def meet(self, sequence: int) -> None:
        """Note that the next record found has this number."""
        if sequence > self.next_sequence:
            self.gaps.append([self.next_sequence, sequence - 1])
        self.next_sequence = max(self.next_sequence, sequence + 1)


def verify(store: Store, run_id: str) -> dict[str, Any]:
    """Read every segment and file of a run again and compare with the index.

    Returns {"run_id", "state", "ok", "points", "strands": [...], "files", "problems": [text]};
    `ok` is false exactly where `problems` names something. Raises UserError for an unknown run.
    """
    store.refresh(run_id)
    problems: list[str] = []
    with store.index() as index:
        row = index.run(run_id)
        strands = _strands(store, run_id, problems)
        _compare(index, store, run_id, problems)
        senseless = sum(row["damaged"] for row in index.segments(run_id))
        files = _files(index, store, run_id, problems)
        problems += filter(None, [lineage.trace(index, run_id)[1]])
    for strand in strands:
        problems += _complaints(strand)
        senseless -= strand.damaged_records
    if senseless > 0:
        problems.append(f"{senseless} events make no sense and are left out")
    return {
        "run_id": run_id,
        "state": row["state"],
        "ok": not problems,
        "points": sum(strand.points for strand in strands),
        "strands": [vars(strand) for strand in strands],
        "files": files,
        "problems": problems,
    }


def _strands(store: Store, run_id: str, problems: list[str]) -> list[Strand]:
    found: dict[tuple[Any, ...], Strand] = {}
    for path in segment_files(store.run_folder(run_id)):
        try:
            header, start = header_of(path)
        except CorruptData as error:
            problems.append(str(error))
            continue
        key = (header.host, header.rank, header.pid, header.start_us, header.nonce)
        strand = found.get(key)
        if strand is None:
            strand = found[key] = Strand(
                header.host, header.rank, header.pid, header.attempt, header.role
            )
        _read(path, header, start, strand)
    return list(found.values())


def _read(path: Path, header: Header, start: int, strand: Strand) -> None:
    lives = writer_lives(path, header.host)
    strand.segments += 1
    strand.state = "open" if lives else "dead"
    reader = SegmentReader(path, start)
    for record in reader.records():
        strand.meet(record.sequence)
        strand.records += 1
        if record.kind == codec.METRICS:
            strand.points += len(record.body[0])
        elif record.kind == codec.SEAL:
            strand.state = "sealed"
    strand.damaged_records += reader.decoder.damaged
    strand.unread_bytes += 0 if lives else path.stat().st_size - reader.position


def _complaints(strand: Strand) -> list[str]:
    who = f"rank {strand.rank} (pid {strand.pid} on {strand.host}, attempt {strand.attempt})"
    found = [f"{who} lacks records {first} to {last}" for first, last in strand.gaps]
    if strand.damaged_records:
        found.append(f"{who} has {strand.damaged_records} damaged records")
    return found


def _compare(index: Index, store: Store, run_id: str, problems: list[str]) -> None:
    """Whether parts and tails hold exactly the points that the segments were read to hold."""
    held: dict[int, int] | None = None
    if history.has_columns():
        held, doubled = history.count_by_segment(index, run_id)
        if doubled:
            problems.append(f"{doubled} points stand twice in the columns")
    for row in index.segments(run_id):
        found = row["points"] if held is None else held.get(row["id"], 0)
        if found != row["points"]:
            problems.append(f"{row['file']}: {row['points']} points read, {found} in the columns")
        if not (store.run_folder(run_id) / row["file"]).exists():
            problems.append(f"{row['file']} is gone from the segments")


def _files(index: Index, store: Store, run_id: str, problems: list[str]) -> int:
    files = index.files(run_id)
    query = "SELECT DISTINCT path, digest FROM file_series WHERE run_id = ? ORDER BY path"
    files |= {path: {"digest": d} for path, d in index.db.execute(query, (run_id,))}
    for name, entry in files.items():
        blob = blob_path(store, entry["digest"])
        if not blob.is_file():
            problems.append(f"file {name}: its content {entry['digest'][:12]} is gone")
        elif digest_of(blob) != entry["digest"]:
            problems.append(f"file {name}: its content was changed after it was logged")
    return len(files)
