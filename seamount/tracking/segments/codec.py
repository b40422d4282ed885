"""The segment: an append-only file to which one process logs one run, and how to read it back.

File = MAGIC (8 bytes, ends with the format's version), one HEADER frame, then record frames.
Frame = `<II` length and CRC-32 of the body, then the body of `length` bytes (all little-endian).
Body of a record = `<BBHQq`: kind, flags, 0, sequence number, time in microseconds since 1970 UTC;
then by kind
    KEYS     `<I` set id, JSON array of metric names (later METRICS name them by that id)
    METRICS  `<I` set id, step (`<q`, or `<d` with FLOAT_STEP set), one `<d` a name of the set;
             with PREVIEW set one more `<d`: how far it was, 0 to 1, NaN where that was not said
    EVENT    JSON object with "kind" (config, tags, files, strings, state, ...)
    SEAL     JSON object; always last: the writer closed the segment on purpose
Sequence numbers count the records of one strand (host, rank, pid, start) from 0 without a gap, also
over the parts of a strand that was rotated. NaN and infinities are stored as they are.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from seamount.core.errors import CorruptData

MAGIC = b"SMTSEG01"
FORMAT_VERSION = 1
MAX_BODY_BYTES = 1 << 26

KEYS, METRICS, EVENT, SEAL = 1, 2, 3, 4
FLOAT_STEP, AUTO_STEP, PREVIEW = 1, 2, 4

FRAME = struct.Struct("<II")
_PREFIX = struct.Struct("<BBHQq")
_SET = struct.Struct("<I")
_COMPLETION = struct.Struct("<d")
_METRICS_INT = struct.Struct("<BBHQqIq")
_METRICS_FLOAT = struct.Struct("<BBHQqId")


@dataclass(frozen=True)
class Header:
    """Who wrote a segment.

    `role` is "main" (made by Run), "fork" (a forked child of such a process), "client" (MLflow's
    client through our plugin), "watch" (the watcher, of the rank it writes about) or "import"
    (`pid` then counts the imports of the run). `attempt` counts the restarts of a rank; `part` the
    rotations.
    """

    run_id: str
    host: str
    rank: int
    world_size: int
    pid: int
    role: str
    attempt: int
    part: int
    first_sequence: int
    start_us: int
    nonce: str
    parent_pid: int | None = None
    format: int = FORMAT_VERSION

    @property
    def file_name(self) -> str:
        """Name in the run's folder (strands.segment_files puts them in order)."""
        kind = "w" if self.role == "watch" else "r"
        return (
            f"{kind}{self.rank:06d}.a{self.attempt:04d}.{self.host}.{self.pid}."
            f"{self.start_us:x}-{self.nonce}.{self.part:04d}.seg"
        )


@dataclass(slots=True)
class Record:
    """One record as read.

    `body` is (names, step, values) for METRICS, (set id, names) for KEYS, else the parsed JSON.
    `preview` is None but for a preview: how far it was, NaN where that was not said.
    """

    kind: int
    flags: int
    sequence: int
    time_us: int
    body: Any
    preview: float | None = None


def frame(body: bytes) -> bytes:
    """`body` with its length and checksum in front."""
    return FRAME.pack(len(body), zlib.crc32(body)) + body


def encode_header(header: Header) -> bytes:
    """The first bytes of a segment."""
    return MAGIC + frame(json.dumps(asdict(header), sort_keys=True).encode())


def encode_json(kind: int, sequence: int, time_us: int, value: Any) -> bytes:
    """An EVENT or SEAL frame."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return frame(_PREFIX.pack(kind, 0, 0, sequence, time_us) + text.encode())


def encode_keys(sequence: int, time_us: int, set_id: int, names: tuple[str, ...]) -> bytes:
    """A KEYS frame."""
    text = json.dumps(names, separators=(",", ":")).encode()
    return frame(_PREFIX.pack(KEYS, 0, 0, sequence, time_us) + _SET.pack(set_id) + text)


def encode_metrics(
    sequence: int, time_us: int, set_id: int, step: float, packed: bytes, flags: int = 0
) -> bytes:
    """A METRICS frame; `packed` holds the values as little-endian doubles."""
    if type(step) is int:
        body = _METRICS_INT.pack(METRICS, flags, 0, sequence, time_us, set_id, step) + packed
    else:
        flags |= FLOAT_STEP
        body = _METRICS_FLOAT.pack(METRICS, flags, 0, sequence, time_us, set_id, step) + packed
    return FRAME.pack(len(body), zlib.crc32(body)) + body


def completion(share: float) -> bytes:
    """What stands behind a preview's values: how far it was, 0 to 1, or NaN."""
    return _COMPLETION.pack(share)


def read_header(content: bytes, name: str) -> tuple[Header, int] | None:
    """The header and the offset of the first record, None where the file is still too short.

    Raises CorruptData for a foreign file, a damaged header or one of a later format.
    """
    if content[: len(MAGIC)] != MAGIC[: len(content)]:
        raise CorruptData(f"{name} is not a segment of format {FORMAT_VERSION}")
    found = _whole_frame(content, len(MAGIC))
    if found is None:
        return None
    body, end = found
    if body is None:
        raise CorruptData(f"{name} has a damaged header")
    try:
        header = Header(**json.loads(body))
    except (ValueError, TypeError) as error:
        raise CorruptData(f"{name} has a header that cannot be read: {error}") from error
    if header.format > FORMAT_VERSION:
        raise CorruptData(f"{name} has format {header.format}: update seamount to read it")
    return header, end


@dataclass
class Decoder:
    """Reads the records of one segment piece by piece.

    Feed `records` with bytes that begin at a frame; `consumed` tells how far whole frames went.
    `sets` (set id -> names) is what must be kept between pieces. A damaged frame followed by a
    whole one is passed over and counted in `damaged`; a damaged or short tail is left unread.
    """

    sets: dict[int, tuple[str, ...]] = field(default_factory=dict)
    consumed: int = 0
    damaged: int = 0

    def records(self, content: bytes) -> Iterator[Record]:
        """The whole records of `content`, in order."""
        self.consumed = 0
        while (found := self.next(content)) is not None:
            if isinstance(found, Record):
                yield found

    def next(self, content: bytes) -> Record | bool | None:
        """The record at `consumed`; False for a damaged one passed over; None at the end."""
        found = _whole_frame(content, self.consumed)
        if found is None:
            return None
        body, end = found
        record = None if body is None else self._decode(body)
        if record is None:
            after = _whole_frame(content, end)
            if after is None or after[0] is None:
                return None
            self.damaged += 1
        self.consumed = end
        return record or False

    def _decode(self, body: bytes) -> Record | None:
        """The record in a checked body; None where it makes no sense (a writer's fault)."""
        try:
            kind, flags, _, sequence, time_us = _PREFIX.unpack_from(body)
            rest = memoryview(body)[_PREFIX.size :]
            preview = None
            if kind == METRICS:
                if flags & PREVIEW:
                    body, (preview,) = body[:-8], _COMPLETION.unpack(body[-8:])
                value: Any = self._metrics(body, flags)
            elif kind == KEYS:
                set_id = _SET.unpack_from(rest)[0]
                names = tuple(json.loads(bytes(rest[_SET.size :])))
                "".join(names).encode()  # names are texts, and Unicode
                self.sets[set_id] = names
                value = (set_id, self.sets[set_id])
            else:
                value = json.loads(bytes(rest))
        except (struct.error, ValueError, KeyError, TypeError, RecursionError):
            return None
        return Record(kind, flags, sequence, time_us, value, preview)

    def _metrics(self, body: bytes, flags: int) -> tuple[tuple[str, ...], float, tuple[float, ...]]:
        layout = _METRICS_FLOAT if flags & FLOAT_STEP else _METRICS_INT
        *_, set_id, step = layout.unpack_from(body)
        if step - step != 0:
            raise ValueError("a step that is not finite")
        names = self.sets[set_id]
        return names, step, struct.unpack(f"<{len(names)}d", body[layout.size :])


def walk(content: bytes, start: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """(body, end) of every frame from `start` on; body None for a damaged one passed over.

    Nothing is decoded; it ends where `Decoder` would: before a short or damaged tail.
    """
    while (found := _whole_frame(content, start)) is not None:
        body, end = found
        if body is None:
            after = _whole_frame(content, end)
            if after is None or after[0] is None:
                return
        yield body, end
        start = end


def count_points(body: bytes) -> int:
    """How many points (or previews) the record in a whole `body` holds; 0 for other kinds."""
    if body[0] != METRICS:
        return 0
    behind = _COMPLETION.size if body[1] & PREVIEW else 0
    return (len(body) - _METRICS_INT.size - behind) // 8


def event_in(body: bytes) -> dict[str, Any] | None:
    """The JSON of an EVENT record's body, None for other kinds."""
    if body[0] != EVENT:
        return None
    try:
        value = json.loads(body[_PREFIX.size :])
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _whole_frame(content: bytes, start: int) -> tuple[bytes | None, int] | None:
    """(body, end) of the frame at `start`; body None if damaged; None if it does not end there."""
    if len(content) - start < FRAME.size:
        return None
    length, checksum = FRAME.unpack_from(content, start)
    end = start + FRAME.size + length
    if length == 0 or length > MAX_BODY_BYTES or end > len(content):
        return None
    body = content[start + FRAME.size : end]
    return (body if zlib.crc32(body) == checksum else None), end
