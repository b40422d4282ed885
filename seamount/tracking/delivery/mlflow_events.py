"""The records behind a position, gathered into what an MLflow server has places for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from seamount.tracking.delivery import mlflow_words as words
from seamount.tracking.delivery.local_run import LocalSegment
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Decoder, Record
from seamount.tracking.segments.pieces import read_piece

PIECE_BYTES = 1 << 18
MAX_POINTS = 20_000
_CONSOLE = "console lines (MLflow has no series of texts)"
_TEXTS = "texts of series (MLflow has no series of texts)"
_PREVIEWS = "previews (MLflow takes no point back)"
_HISTOGRAMS = "histograms (MLflow has none)"


@dataclass
class Gathered:
    """`tags`, `params`: name -> (time in microseconds, value), the newest; None removes a tag."""

    metrics: list[dict[str, Any]] = field(default_factory=list)
    tags: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    params: dict[str, tuple[int, Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    spelled: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    positions: dict[str, int] = field(default_factory=dict)

    def take(self, record: Record, rank: int) -> None:
        """Put one record where it belongs."""
        if record.kind == codec.METRICS:
            names, step, values = record.body
            if record.preview is not None:
                self.left_out[_PREVIEWS] += len(names)
                return
            for name, value in zip(names, values, strict=True):
                known = words.metric_key(name, rank)
                if known != name and rank == 0:
                    self.spelled[known] = name
                self.metrics.append(words.metric(known, value, record.time_us, step))
        elif record.kind == codec.EVENT and isinstance(record.body, dict):
            self._event(record.body, record.time_us)

    def _event(self, body: dict[str, Any], time_us: int) -> None:
        kind = body.get("kind")
        if kind == "config":
            for name, value in body["values"].items():
                _newest(self.params, name, time_us, value)
        elif kind == "tags":
            for name, value in (
                dict.fromkeys(body.get("remove", ())) | body.get("set", {})
            ).items():
                _newest(self.tags, name, time_us, value)
        elif kind == "files":
            self.files |= {name: entry["digest"] for name, entry in body["files"].items()}
        elif kind == "file_series":
            self.files |= {entry["path"]: entry["digest"] for entry in body["data"].values()}
        elif kind == "strings":
            self.left_out[_CONSOLE if body.get("console") else _TEXTS] += len(body["data"])
        elif kind == "histograms":
            self.left_out[_HISTOGRAMS] += len(body["data"])


class Reader:
    """Reads on where it stopped; names of metrics it finds again in the beginning of a file."""

    def __init__(self) -> None:
        self._decoders: dict[str, tuple[int, Decoder]] = {}

    def gather(
        self, segments: list[LocalSegment], positions: dict[str, int]
    ) -> tuple[Gathered, bool]:
        """A bounded part of what is behind `positions`, and whether there is more."""
        found, more = Gathered(), False
        # Those that are furthest behind come first, so that none waits for ever.
        for segment in sorted(segments, key=lambda s: positions.get(s.path.name, 0) - s.size):
            offset = positions.get(segment.path.name, 0)
            if offset >= segment.size:
                continue
            if len(found.metrics) >= MAX_POINTS:
                return found, True
            piece = read_piece(segment.path, offset, PIECE_BYTES)
            if not piece:
                continue  # a tail that is not whole (yet)
            self._take(found, segment, offset, piece)
            more = more or offset + len(piece) < segment.size
        return found, more

    def _take(self, found: Gathered, segment: LocalSegment, offset: int, piece: bytes) -> None:
        name = segment.path.name
        start = 0
        if offset == 0:
            header = codec.read_header(piece, name)
            start = len(piece) if header is None else header[1]
        decoder = self._decoder(segment, offset)
        for record in decoder.records(piece[start:]):
            found.take(record, segment.header.rank)
        found.positions[name] = offset + len(piece)
        self._decoders[name] = (offset + len(piece), decoder)

    def _decoder(self, segment: LocalSegment, offset: int) -> Decoder:
        """A decoder that knows the sets of names before `offset`."""
        at, decoder = self._decoders.pop(segment.path.name, (-1, Decoder()))
        if at == offset:
            return decoder
        decoder, at = Decoder(), 0
        while at < offset and (piece := read_piece(segment.path, at)):
            start = 0
            if at == 0:
                header = codec.read_header(piece, segment.path.name)
                start = len(piece) if header is None else header[1]
            keys = [b for b, _ in codec.walk(piece, start) if b is not None and b[0] == codec.KEYS]
            for _ in decoder.records(b"".join(codec.frame(body) for body in keys)):
                pass
            at += len(piece)
        return decoder


def _newest(table: dict[str, tuple[int, Any]], name: str, time_us: int, value: Any) -> None:
    if name not in table or table[name][0] <= time_us:
        table[name] = (time_us, value)
