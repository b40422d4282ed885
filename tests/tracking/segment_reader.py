"""A reader of segments written from docs/tracking.md with struct alone: slow, and not our code."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Point = tuple[Any, float, int]  # step, value, time in microseconds
Preview = tuple[Any, float, int, float]  # and how far it was, NaN where that was not said


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
    """(name, rank, attempt) -> final points as they stand in a run's segments."""
    return _records(folder)[0]


def previews(folder: Path) -> dict[tuple[str, int, int], list[Preview]]:
    """(name, rank, attempt) -> previews as they stand in a run's segments."""
    return _records(folder)[1]


def _records(folder: Path) -> tuple[dict[Any, list[Any]], dict[Any, list[Any]]]:
    final: dict[Any, list[Any]] = {}
    provisional: dict[Any, list[Any]] = {}
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
                    if flags & 4:
                        (share,) = struct.unpack_from("<d", body, 32 + 8 * len(names[number]))
                        provisional.setdefault(key, []).append((step, value, time_us, share))
                    else:
                        final.setdefault(key, []).append((step, value, time_us))
    return final, provisional


def joined(segments: Path, run_id: str) -> dict[tuple[str, int], list[Point]]:
    """(name, rank) -> a run's points, with what its ancestors lend it up to the fork steps."""
    identity = json.loads((segments / run_id / "run.json").read_text())
    result: dict[tuple[str, int], list[Point]] = {}
    if "fork_run_id" in identity:
        for key, ps in joined(segments, identity["fork_run_id"]).items():
            lent = [p for p in ps if p[0] <= identity["fork_step"]]
            if lent and not key[0].startswith(("system/", "runtime/")):
                result[key] = lent
    for key, ps in shown(segments / run_id).items():
        if ps:  # by step and time; of equal ones the ancestor's come first
            result[key] = sorted(result.get(key, []) + ps, key=lambda p: (p[0], p[2]))
    return result


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
