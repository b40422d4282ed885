"""The end of a segment: whether it was sealed, and the last console lines in it."""

from __future__ import annotations

import json
import os
from collections import deque
from typing import Any

from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import EVENT, FRAME, MAX_BODY_BYTES, SEAL

MAX_LINES = 50
MAX_LINE_CHARS = 1000
_PREFIX_BYTES = 20
_KEPT = 400


def read_end(fd: int, name: str) -> tuple[dict[str, Any] | None, list[str]]:
    """(body of the SEAL or None, last console lines) of a segment that is not written any more.

    Walks over the frames without decoding the points in them.
    """
    content = os.pread(fd, os.fstat(fd).st_size, 0)
    header = codec.read_header(content[: 1 << 16], name)
    position = len(content) if header is None else header[1]
    events: deque[tuple[int, bytes]] = deque(maxlen=_KEPT)
    while position + FRAME.size < len(content):
        length, _ = FRAME.unpack_from(content, position)
        start, end = position + FRAME.size, position + FRAME.size + length
        if not 0 < length <= MAX_BODY_BYTES or end > len(content):
            break
        if content[start] in (EVENT, SEAL):
            events.append((content[start], content[start + _PREFIX_BYTES : end]))
        position = end
    sealed = bool(events) and events[-1][0] == SEAL and position >= len(content)
    return (_parse(events[-1][1]) if sealed else None), _lines([body for _, body in events])


def _parse(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _lines(bodies: list[bytes]) -> list[str]:
    """Console lines in order; of a line that was not finished, its newest state."""
    lines: list[str] = []
    open_lines: dict[str, str] = {}
    for event in map(_parse, bodies):
        if event.get("kind") == "console":
            open_lines[event["name"]] = event["text"]
        elif event.get("kind") == "strings" and event.get("console"):
            for name, text in event["data"].items():
                open_lines.pop(name, None)
                lines.append(text)
    lines += open_lines.values()
    return [line[:MAX_LINE_CHARS] for line in lines[-MAX_LINES:]]
