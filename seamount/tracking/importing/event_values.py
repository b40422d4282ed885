"""What TensorBoard's summary values mean: tensors by their plugin, pictures, sounds, histograms."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from seamount.tracking.importing import wire
from seamount.tracking.importing.records import File, Histogram, Item, Points, Report, Text

_LARGEST = sys.float_info.max
_PNG = b"\x89PNG"
# TensorProto: dtype -> (struct format of tensor_content, field of the values, their format there)
_FLOAT, _DOUBLE, _STRING = 1, 2, 7
_NUMBERS = {
    _FLOAT: ("f", 5, "f"),
    _DOUBLE: ("d", 6, "d"),
    3: ("i", 7, ""),
    4: ("B", 7, ""),
    5: ("h", 7, ""),
    6: ("b", 7, ""),
    9: ("q", 10, ""),
    10: ("?", 11, ""),
    17: ("H", 7, ""),
    22: ("I", 16, ""),
    23: ("Q", 17, ""),
}
_BFLOAT16, _HALF = 14, 19


def tensor(
    tag: str, plugin: str, content: bytes, step: int, time_us: int, report: Report
) -> Iterator[Item]:
    """A tensor value as its plugin means it; else, kept as the file of its message."""
    proto = wire.message(content)
    kind = wire.signed(proto, 1)
    if kind == _STRING:
        texts = [bytes(value) for value in proto.get(8, ())]
        if plugin == "text":
            for number, text in enumerate(texts):
                name = tag if len(texts) == 1 else f"{tag}/{number}"
                yield Text(name, text.decode("utf-8", "replace"), step, time_us)
            return
        if plugin == "images":  # width, height, then pictures
            for number, picture_bytes in enumerate(texts[2:]):
                name = tag if len(texts) == 3 else f"{tag}/{number}"
                yield picture(name, picture_bytes, step, time_us)
            return
        if plugin == "audio":  # pairs of a sound and its label
            for number, sound_bytes in enumerate(texts[::2]):
                name = tag if len(texts) <= 2 else f"{tag}/{number}"
                yield sound(name, sound_bytes, step, time_us)
            return
    values = _values(proto, kind)
    if values is not None and len(values) == 1 and plugin in ("scalars", ""):
        yield Points({tag: float(values[0])}, step, time_us)
    elif values and plugin == "histograms" and len(values) % 3 == 0:
        yield _new_histogram(tag, values, step, time_us)
    else:
        report.add(f"values of the plugin {plugin or 'unknown'!r} (kept as files)", tag)
        yield File(tag, content, time_us, step, suffix=".pb")


def picture(tag: str, content: bytes, step: int, time_us: int) -> File:
    """A picture as the file that was logged."""
    if content.startswith(_PNG):
        return File(tag, content, time_us, step, "image/png", ".png")
    if content.startswith(b"GIF8"):
        return File(tag, content, time_us, step, "image/gif", ".gif")
    if content.startswith(b"\xff\xd8"):
        return File(tag, content, time_us, step, "image/jpeg", ".jpg")
    return File(tag, content, time_us, step, suffix=".bin")


def sound(tag: str, content: bytes, step: int, time_us: int) -> File:
    """A sound as the file that was logged."""
    wav = content.startswith(b"RIFF")
    mime = "audio/wav" if wav else "application/octet-stream"
    return File(tag, content, time_us, step, mime, ".wav" if wav else ".bin")


def old_histogram(tag: str, proto: dict[int, list[Any]], step: int, time_us: int) -> Histogram:
    """A HistogramProto: right edges and counts, with the least and the greatest value.

    Empty buckets at both ends are left away (they say nothing), infinite edges become the extremes.
    """
    limits, counts = wire.doubles(proto, 6), wire.doubles(proto, 7)
    low, high = wire.double(proto, 1), wire.double(proto, 2)
    first = next((i for i, count in enumerate(counts) if count), 0)
    last = next((i for i in range(len(counts) - 1, -1, -1) if counts[i]), len(counts) - 1)
    edges = [limits[first - 1] if first else -_LARGEST, *limits[first : last + 1]]
    if edges[0] <= -_LARGEST:
        edges[0] = low
    if edges[-1] >= _LARGEST:
        edges[-1] = high
    return Histogram(tag, "COUNTING", edges, counts[first : last + 1], step, time_us)


def hparams(start: dict[int, list[Any]]) -> dict[str, Any]:
    """SessionStartInfo's map of google.protobuf.Value, and the group's name."""
    found: dict[str, Any] = {}
    for content in start.get(1, ()):
        entry = wire.message(content)
        found[wire.text(entry, 1)] = _plain(wire.message(entry.get(2, [b""])[-1]))
    if group := wire.text(start, 4):
        found["hparams.group_name"] = group
    return found


def _plain(value: dict[int, list[Any]]) -> Any:
    if 2 in value:
        return wire.double(value, 2)
    if 3 in value:
        return wire.text(value, 3)
    if 4 in value:
        return bool(value[4][-1])
    if 6 in value:
        items = wire.message(value[6][-1]).get(1, ())
        return [_plain(wire.message(item)) for item in items]
    return None


def _new_histogram(tag: str, values: Sequence[float], step: int, time_us: int) -> Item:
    """Rows of left edge, right edge, count; a bucket without width stands at the end of TF2's."""
    rows = [values[i : i + 3] for i in range(0, len(values), 3)]
    edges = [rows[0][0], *(row[1] for row in rows)]
    return Histogram(tag, "COUNTING", edges, [row[2] for row in rows], step, time_us)


def _values(proto: dict[int, list[Any]], kind: int) -> Sequence[float] | None:
    """Every number of a tensor, None for a kind that is not read here."""
    if kind in (_HALF, _BFLOAT16):
        return _halves(proto, kind)
    if kind not in _NUMBERS:
        return None
    form, field, packed = _NUMBERS[kind]
    content = b"".join(proto.get(4, ()))
    if content:
        return list(struct.unpack(f"<{len(content) // struct.calcsize(form)}{form}", content))
    if packed:
        return wire.doubles(proto, field, packed)
    return wire.integers(proto, field)


def _halves(proto: dict[int, list[Any]], kind: int) -> list[float]:
    content = b"".join(proto.get(4, ()))
    words = (
        list(struct.unpack(f"<{len(content) // 2}H", content))
        if content
        else wire.integers(proto, 13)
    )
    if kind == _HALF:
        return [struct.unpack("<e", struct.pack("<H", word & 0xFFFF))[0] for word in words]
    return [struct.unpack("<f", struct.pack("<I", (word & 0xFFFF) << 16))[0] for word in words]
