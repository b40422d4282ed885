"""What a run holds already: what a second import of a grown run must not add again.

Records are known by a hash of what they say (not of where they stand), and counted: a source that
logged the same point twice keeps it twice. About 150 bytes of memory a record, and only for a run
that changed since its last import.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from seamount.tracking.segments import codec
from seamount.tracking.segments.reader import SegmentReader, header_of
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store.folder import Store


@dataclass
class Known:
    """How often each record is there, the next step of each counted name, tags and files."""

    marks: Counter[bytes] = field(default_factory=Counter)
    next_step: dict[str, int] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def take(self, mark: bytes) -> bool:
        """Whether a record of this mark is there and was not met yet in the source."""
        if self.marks.get(mark, 0) < 1:
            return False
        self.marks[mark] -= 1
        return True

    def count(self, names: Mapping[str, Any]) -> int:
        """The step of a counted record of these names, which is then taken."""
        step = max((self.next_step.get(name, 0) for name in names), default=0)
        self.next_step |= dict.fromkeys(names, step + 1)
        return step


def metrics_mark(values: Mapping[str, float], step: float | None, time_us: int) -> bytes:
    """The mark of one METRICS record; `step` None stands for a counted one."""
    packed = struct.pack(f"<{len(values)}d", *values.values())
    text = json.dumps([list(values), None if step is None else repr(step), time_us])
    return blake2b(text.encode() + packed, digest_size=16).digest()


def event_mark(event: Mapping[str, Any], time_us: int) -> bytes:
    """The mark of one EVENT record."""
    counted = event.get("counted")
    body = {k: v for k, v in event.items() if not (counted and k in ("step", "path"))}
    text = json.dumps([body, time_us], sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


def read(store: Store, run_id: str) -> Known:
    """What the segments of a run hold."""
    known = Known()
    for path in segment_files(store.run_folder(run_id)):
        for record in SegmentReader(path, header_of(path)[1]).records():
            _note(record, known)
    return known


def _note(record: codec.Record, known: Known) -> None:
    if record.kind == codec.METRICS:
        names, step, values = record.body
        counted = bool(record.flags & codec.AUTO_STEP)
        pairs = dict(zip(names, values, strict=True))
        known.marks[metrics_mark(pairs, None if counted else step, record.time_us)] += 1
        if counted:
            known.next_step |= {n: max(known.next_step.get(n, 0), int(step) + 1) for n in names}
    elif record.kind == codec.EVENT and isinstance(record.body, dict):
        _note_event(record.body, record.time_us, known)


def _note_event(body: dict[str, Any], time_us: int, known: Known) -> None:
    known.marks[event_mark(body, time_us)] += 1
    if body.get("kind") == "tags":
        known.tags |= body.get("set", {})
        for name in body.get("remove", ()):
            known.tags.pop(name, None)
    elif body.get("kind") == "files":
        known.files |= {name: entry["digest"] for name, entry in body["files"].items()}
    elif body.get("counted"):
        step, names = int(body["step"]) + 1, body.get("data", {})
        known.next_step |= {n: max(known.next_step.get(n, 0), step) for n in names}
