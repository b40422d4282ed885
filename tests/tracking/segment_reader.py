"""A reader of segments written from docs/tracking.md with struct alone: slow, and not our code."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Point = tuple[Any, float, int]  # step, value, time in microseconds


def frames(content: bytes) -> Iterator[bytes]:
    """Bodies of the whole frames; stops at the first that is short or damaged."""
    at = 8
    while at + 8 <= len(content):
        length, checksum = struct.unpack_from("<II", content, at)
        body = content[at + 8 : at + 8 + length]
        if len(body) < length or zlib.crc32(body) != checksum:
            return
        yield body
        at += 8 + length


def points(folder: Path) -> dict[tuple[str, int, int], list[Point]]:
    """(name, rank, attempt) -> points as they stand in a run's segments."""
    found: dict[tuple[str, int, int], list[Point]] = {}
    for path in sorted(folder.glob("*.seg")):
        header, *bodies = frames(path.read_bytes())
        who, names = json.loads(header), {}
        for body in bodies:
            kind, flags, _, _, time_us = struct.unpack_from("<BBHQq", body)
            if kind == 1:
                names[struct.unpack_from("<I", body, 20)[0]] = json.loads(body[24:])
            elif kind == 2:
                (number,) = struct.unpack_from("<I", body, 20)
                (step,) = struct.unpack_from("<d" if flags & 1 else "<q", body, 24)
                for place, name in enumerate(names[number]):
                    (value,) = struct.unpack_from("<d", body, 32 + 8 * place)
                    key = (name, who["rank"], who["attempt"])
                    found.setdefault(key, []).append((step, value, time_us))
    return found


def shown(folder: Path) -> dict[tuple[str, int], list[Point]]:
    """(name, rank) -> points by step and time, of each attempt those below all later ones."""
    found = points(folder)
    result: dict[tuple[str, int], list[Point]] = {}
    for name, rank, attempt in found:
        later = [p[0] for (n, r, a), ps in found.items() if (n, r) == (name, rank) and a > attempt
                 for p in ps]  # fmt: skip
        kept = [p for p in found[name, rank, attempt] if all(p[0] < step for step in later)]
        result.setdefault((name, rank), []).extend(kept)
    return {key: sorted(ps, key=lambda p: (p[0], p[2])) for key, ps in result.items()}
