"""A run of this store as delivery sees it: segments that grow, and files beside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seamount.core.errors import CorruptData
from seamount.tracking.artifacts import blob_path
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.pieces import bodies, file_names, read_piece
from seamount.tracking.segments.reader import header_of
from seamount.tracking.segments.strands import segment_files, writer_lives
from seamount.tracking.store.folder import RunIdentity, Store


@dataclass(frozen=True)
class LocalSegment:
    """A segment; `lives` was asked before `size`, so a dead writer's file has its last size."""

    path: Path
    header: Header
    lives: bool
    size: int


@dataclass(frozen=True)
class LocalRun:
    """A run in `store`; raises CorruptData where its run.json is damaged."""

    store: Store
    identity: RunIdentity

    @property
    def run_id(self) -> str:
        """Its id."""
        return self.identity.run_id

    @property
    def folder(self) -> Path:
        """Folder of its segments."""
        return self.store.run_folder(self.run_id)

    def segments(self) -> list[LocalSegment]:
        """The segments as they now are; one without a readable header is left out."""
        found = []
        for path in segment_files(self.folder):
            header = _header(path)
            if header is not None:
                lives = writer_lives(path, header.host)
                found.append(LocalSegment(path, header, lives, path.stat().st_size))
        return found

    def blob(self, digest: str) -> Path:
        """File with the content of this SHA-256."""
        return blob_path(self.store, digest)


def _header(path: Path) -> Header | None:
    """The header of a segment, None where it cannot be read."""
    try:
        return header_of(path)[0]
    except CorruptData:
        return None


@dataclass
class Left:
    """What a server has not got yet."""

    points: int = 0
    files: int = 0
    bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.points or self.files or self.bytes)


def left_behind(run: LocalRun, positions: dict[str, int]) -> Left:
    """What lies behind `positions` in the segments of `run`."""
    left = Left()
    for segment in run.segments():
        offset = positions.get(segment.path.name, 0)
        while offset < segment.size and (piece := read_piece(segment.path, offset)):
            for body in bodies(piece, offset):
                left.points += codec.count_points(body)
                left.files += len(file_names(body))
            left.bytes += len(piece)
            offset += len(piece)
    return left
