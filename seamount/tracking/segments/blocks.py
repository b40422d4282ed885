"""Many METRICS records at once, as numpy arrays: what readers use in place of `Decoder.records`.

Frames are found one by one (each checksum is checked), then those of one set of names are taken
out of the bytes together. Anything else, and anything odd, goes through the Decoder.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from seamount.tracking.segments.codec import (
    FLOAT_STEP,
    FRAME,
    METRICS,
    PREVIEW,
    Decoder,
    Record,
)

_HEAD = struct.Struct("<IIBBHQqI")  # a METRICS frame up to its step
_BODY_BYTES = 32  # without values
_FLOAT = struct.Struct("<d")
_KEPT = FLOAT_STEP | PREVIEW  # flags that change how a record is laid out

Group = tuple[tuple[str, ...], int, list[int]]  # names, flags, offsets


@dataclass(frozen=True)
class Block:
    """Records of one set of names in order; `values` has a row a record, a column a name.

    `steps` are int64, or float64 where the records say so; times are microseconds since 1970 UTC.
    Of previews `completion` is how far each was (NaN where that was not said), else it is None.
    """

    names: tuple[str, ...]
    sequence: Any
    time_us: Any
    steps: Any
    values: Any
    completion: Any = None


def read_blocks(decoder: Decoder, content: bytes) -> tuple[list[Block], list[Record]]:
    """(metrics, other records) of `content`; `decoder` is left as `records` would leave it."""
    found: list[Group] = []
    others: list[Record] = []
    decoder.consumed = 0
    while True:
        found += _metrics(decoder, content)
        record = decoder.next(content)
        if record is None:
            break
        if isinstance(record, Record):
            others.append(record)
    return _joined(content, found), others


def _metrics(decoder: Decoder, content: bytes) -> list[Group]:
    """Offsets of the whole METRICS frames from `consumed` on, by set and layout."""
    groups: dict[int, list[int]] = {}
    sets, view = decoder.sets, memoryview(content)
    at, last = decoder.consumed, len(content) - _HEAD.size - 8
    while at <= last:
        length, checksum, kind, flags, _, _, _, set_id = _HEAD.unpack_from(content, at)
        end = at + FRAME.size + length
        if kind != METRICS or set_id not in sets or end > len(content):
            break
        flags &= _KEPT
        if length != _BODY_BYTES + 8 * (len(sets[set_id]) + (flags >= PREVIEW)):
            break
        if zlib.crc32(view[at + FRAME.size : end]) != checksum:
            break
        if flags & FLOAT_STEP and not math.isfinite(_FLOAT.unpack_from(content, at + 32)[0]):
            break
        key = 8 * set_id + flags
        if key in groups:
            groups[key].append(at)
        else:
            groups[key] = [at]
        at = end
    decoder.consumed = at
    return [(sets[key // 8], key % 8, offsets) for key, offsets in groups.items()]


def _joined(content: bytes, found: list[Group]) -> list[Block]:
    """One block a set and layout, in the order of the bytes."""
    merged: dict[tuple[int, int], tuple[tuple[str, ...], list[int]]] = {}
    for names, flags, offsets in found:
        merged.setdefault((id(names), flags), (names, []))[1].extend(offsets)
    return [_block(content, names, flags, at) for (_, flags), (names, at) in merged.items()]


def _block(content: bytes, names: tuple[str, ...], flags: int, offsets: list[int]) -> Block:
    is_float, is_preview = flags & FLOAT_STEP, flags & PREVIEW
    dtype = np.dtype([
        ("frame", "<u4", (2,)), ("kind", "<u4"), ("sequence", "<i8"), ("time_us", "<i8"),
        ("set", "<u4"), ("step", "<f8" if is_float else "<i8"), ("values", "<f8", (len(names),)),
        ("completion", "<f8", (1 if is_preview else 0,)),
    ])  # fmt: skip
    places = len(content) - dtype.itemsize + 1
    # Every byte as the start of a record: taking some of them copies just those.
    everywhere: Any = np.ndarray((places,), dtype, buffer=content, strides=(1,))
    rows = everywhere[np.array(offsets)]
    completion = rows["completion"][:, 0] if is_preview else None
    return Block(names, rows["sequence"], rows["time_us"], rows["step"], rows["values"], completion)
