"""A segment's file read from its beginning, piece by piece: for those who want every record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seamount.core.errors import CorruptData
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder, Header, Record

_HEADER_BYTES = 1 << 16
_PIECE_BYTES = 1 << 23


def header_of(path: Path) -> tuple[Header, int]:
    """A segment's header and where its records begin; a file gets its name after both.

    Raises CorruptData where it has none.
    """
    with path.open("rb") as stream:
        found = codec.read_header(stream.read(_HEADER_BYTES), str(path))
    if found is None:
        raise CorruptData(f"{path} has no whole header")
    return found


@dataclass
class SegmentReader:
    """The records of `path` from `position` on; `position` is then behind the last whole one."""

    path: Path
    position: int
    decoder: Decoder = field(default_factory=Decoder)

    def records(self) -> Iterator[Record]:
        """Every whole record that is there, in order; what was damaged is counted by `decoder`."""
        limit = _PIECE_BYTES
        with self.path.open("rb") as stream:
            while True:
                stream.seek(self.position)
                content = stream.read(limit)
                yield from self.decoder.records(content)
                self.position += self.decoder.consumed
                if self.decoder.consumed:
                    limit = _PIECE_BYTES
                elif len(content) == limit == _PIECE_BYTES:
                    limit = codec.MAX_BODY_BYTES + 64  # one record larger than a piece
                else:
                    return
