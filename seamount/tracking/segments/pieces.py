"""Pieces of segments as bytes: what is sent to another store, frame by whole frame."""

from __future__ import annotations

from pathlib import Path

from seamount.core.errors import CorruptData
from seamount.tracking.segments import codec

PIECE_BYTES = 1 << 22
MAX_PIECE_BYTES = codec.MAX_BODY_BYTES + PIECE_BYTES


def read_piece(path: Path, offset: int, limit: int = PIECE_BYTES) -> bytes:
    """The whole frames from `offset` on, up to `limit` bytes (more only for one larger record).

    From 0 on the piece begins with magic and header. Empty at the end, or before a tail that a
    crash cut. Raises CorruptData where the file is no segment.
    """
    with path.open("rb") as stream:
        stream.seek(offset)
        content = stream.read(limit)
        end = whole_frames(content, offset, path.name)
        if end == 0 and len(content) == limit:
            content += stream.read(codec.MAX_BODY_BYTES + codec.FRAME.size)
            end = whole_frames(content, offset, path.name, most=1)
    return content[:end]


def whole_frames(content: bytes, offset: int, name: str, most: int | None = None) -> int:
    """Where the whole frames (`most` of them) of `content`, which stands at `offset`, end."""
    end = 0
    if offset == 0:
        found = codec.read_header(content, name)
        if found is None:
            return 0
        end = found[1]
    for count, (_, after) in enumerate(codec.walk(content, end)):
        if most is not None and count >= most:
            break
        end = after
    return end


def whole_end(path: Path, offset: int = 0) -> int:
    """Where the whole frames of a segment end; `offset` must be the end of a frame."""
    try:
        while piece := read_piece(path, offset):
            offset += len(piece)
    except CorruptData:
        return offset
    return offset


def bodies(piece: bytes, offset: int) -> list[bytes]:
    """Bodies of the whole records in a piece that stands at `offset`; damaged ones are left out."""
    start = 0
    if offset == 0:
        found = codec.read_header(piece, "segment")
        start = len(piece) if found is None else found[1]
    return [body for body, _ in codec.walk(piece, start) if body is not None]


def file_names(body: bytes) -> dict[str, str]:
    """Name -> SHA-256 of the files that an EVENT record in `body` names."""
    event = codec.event_in(body) or {}
    if event.get("kind") == "files":
        found = event.get("files", {}).items()
        return {str(name): str(entry["digest"]) for name, entry in found}
    if event.get("kind") == "file_series":
        return {str(e["path"]): str(e["digest"]) for e in event.get("data", {}).values()}
    return {}
