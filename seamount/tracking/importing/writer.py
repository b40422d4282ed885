"""Writes one run's records, with the times they had, into segments that no reader sees yet."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking import artifacts, media
from seamount.tracking.configs import canonical, digest
from seamount.tracking.importing import fitting
from seamount.tracking.importing.known import Known, event_mark, metrics_mark
from seamount.tracking.importing.records import (
    Config,
    File,
    Histogram,
    Item,
    Points,
    Report,
    SourceRun,
    Tags,
    Text,
)
from seamount.tracking.names import MAX_TAG_BYTES, MAX_TEXT_CHARS, check_tag_value, unicode_text
from seamount.tracking.segments import codec
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name
from seamount.tracking.segments.writer import MAX_NAMES_A_CALL, SegmentWriter
from seamount.tracking.store.folder import Store

_CONFIG_PIECE_BYTES = 1 << 22
_MAX_RECORD_BYTES = 1 << 25


class ImportWriter:
    """Takes a run's items; `counts` says what was written, `known` what need not be."""

    def __init__(
        self, store: Store, run_id: str, run: SourceRun, report: Report, known: Known
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.last_us = run.created_us
        self._store, self._run_id, self._run = store, run_id, run
        self._report, self._known = report, known

    def open(self, folder: Path, number: int) -> None:
        """Begin the segment of the run's import `number` in `folder`."""
        header = Header(
            run_id=self._run_id,
            host=host_name(),
            rank=0,
            world_size=1,
            pid=number,  # so that the segments of a run's imports sort in their order
            role="import",
            attempt=0,
            part=0,
            first_sequence=0,
            start_us=self._run.created_us,
            nonce=os.urandom(4).hex(),
        )
        self._writer = SegmentWriter(folder, header)
        self._writer.open()

    def close(self) -> None:
        """Say how the run ended, flush to disk and seal; raises where anything found no room."""
        run = self._run
        ended_us = run.ended_us
        if run.state != "Running" and ended_us is None:
            ended_us = self.last_us
        state = {"kind": "state", "state": run.state, "ended_us": ended_us}
        self._event(state, max(self.last_us, ended_us or 0), "states")  # later words win
        self._writer.barrier()
        self._writer.seal({"kind": "end", "state": run.state})

    def abandon(self) -> None:
        """Close the file of an import that failed."""
        self._writer.seal({"kind": "end", "state": "Failed"})

    def deleted(self, flag: bool) -> None:
        """Record that the source has the run as deleted (or no longer), as of now."""
        event = {"kind": "deleted", "deleted": flag}
        self._writer.event(event, time.time_ns() // 1000)
        self.counts["deletions"] += 1

    def write(self, item: Item) -> None:
        """Append one item, unless the run has it."""
        time_us = fitting.time_us(item.time_us, self._run.created_us, self._report)
        self.last_us = max(self.last_us, time_us)
        if isinstance(item, Points):
            self._points(item, time_us)
        elif isinstance(item, Config):
            self._config(item.values, time_us)
        elif isinstance(item, Tags):
            self._tags(item.values, time_us)
        elif isinstance(item, Text):
            self._text(item, time_us)
        elif isinstance(item, Histogram):
            self._histogram(item, time_us)
        else:
            self._file(item, time_us)

    def _points(self, item: Points, time_us: int) -> None:
        values = self._numbers(item.values)
        step = None if item.step is None else fitting.step(item.step, self._report)
        if not values or (step is None and item.step is not None):
            return
        names = list(values)
        for start in range(0, len(names), MAX_NAMES_A_CALL):
            group = {n: values[n] for n in names[start : start + MAX_NAMES_A_CALL]}
            if self._known.marks and self._known.take(metrics_mark(group, step, time_us)):
                continue
            flags = codec.AUTO_STEP if step is None else 0
            at = self._known.count(group) if step is None else step
            self._writer.metrics(group, at, time_us, flags)
            self.counts["points"] += len(group)

    def _numbers(self, values: Mapping[str, Any]) -> dict[str, float]:
        found = {}
        for name, value in values.items():
            try:
                found[fitting.name(name, self._report, "metric names")] = float(value)
            except (TypeError, ValueError, OverflowError):
                self._report.add("metric values that are no numbers (left out)", name)
        return found

    def _config(self, values: Mapping[str, Any], time_us: int) -> None:
        piece: dict[str, Any] = {}
        size = 0
        for name, value in values.items():
            one = len(canonical({name: value}))
            if one > _MAX_RECORD_BYTES:
                self._report.add("config values over 32 MiB (left out)", name)
                continue
            if piece and size + one > _CONFIG_PIECE_BYTES:
                self._config_piece(piece, time_us)
                piece, size = {}, 0
            piece[fitting.name(name, self._report, "config names")] = value
            size += one
        if piece:
            self._config_piece(piece, time_us)

    def _config_piece(self, values: dict[str, Any], time_us: int) -> None:
        event = {"kind": "config", "digest": digest(values), "values": values}
        self._event(event, time_us, "configs", len(values))

    def _tags(self, values: Mapping[str, str], time_us: int) -> None:
        pairs: dict[str, str] = {}
        for name, value in values.items():
            key = fitting.name(name, self._report, "tag names")
            try:
                pairs[key] = check_tag_value(value)
            except UserError:
                self._long_tag(key, str(value), pairs, time_us)
        changed = {k: v for k, v in pairs.items() if self._known.tags.get(k) != v}
        if changed:
            self._known.tags |= changed
            self._writer.event({"kind": "tags", "set": changed}, time_us)
            self.counts["tags"] += len(changed)

    def _long_tag(self, key: str, value: str, pairs: dict[str, str], time_us: int) -> None:
        """A tag that does not fit is kept whole as a file, and cut as a tag."""
        self._report.add(f"tag values cut at {MAX_TAG_BYTES} bytes (kept whole as files)", key)
        plain = "".join(c if c in "\n\r\t" or c.isprintable() else "_" for c in value)
        text = plain.encode("utf-8", "replace")[: MAX_TAG_BYTES - 3].decode("utf-8", "ignore")
        pairs[key] = text + "..."
        content = value.encode("utf-8", "surrogatepass")
        self._file(File(f"seamount-import/tags/{key}.txt", content, time_us), time_us)

    def _text(self, item: Text, time_us: int) -> None:
        name = fitting.name(item.name, self._report, "series names")
        text = unicode_text(item.text[:MAX_TEXT_CHARS])
        event: dict[str, Any] = {"kind": "strings", "data": {name: text}}
        if len(item.text) > MAX_TEXT_CHARS:
            event["cut"] = [name]
            self._report.add(f"texts cut at {MAX_TEXT_CHARS} characters", name)
        self._series(event, item.step, time_us, "texts")

    def _histogram(self, item: Histogram, time_us: int) -> None:
        name = fitting.name(item.name, self._report, "series names")
        values = {"counts" if item.kind == "COUNTING" else "densities": item.values}
        try:
            one = media.Histogram(item.edges, **values)
        except UserError as error:
            self._report.add("histograms kept as JSON files (ours holds no such bins)", error)
            body = {"type": item.kind, "edges": item.edges, "values": item.values}
            content = json.dumps(body).encode()
            mime, step = "application/json", item.step or 0
            self._file(File(item.name, content, time_us, step, mime, ".json"), time_us)
            return
        data = {"type": one.type, "edges": list(one.bin_edges), "values": list(one.values)}
        event = {"kind": "histograms", "data": {name: data}}
        self._series(event, item.step, time_us, "histograms")

    def _series(
        self, event: dict[str, Any], step: int | float | None, time_us: int, what: str
    ) -> None:
        if step is not None:
            at = fitting.step(step, self._report)
            if at is not None:
                self._event(event | {"step": at}, time_us, what)
            return
        event = event | {"counted": True}
        if not self._known.take(event_mark(event, time_us)):
            at = self._known.count(event["data"])
            self._writer.event(event | {"step": at}, time_us)
            self.counts[what] += 1

    def _file(self, item: File, time_us: int) -> None:
        name = fitting.path(item.name, self._report)
        if item.step is None:
            name, entry = self._put(name, item.source)
            if self._known.files.get(name) == entry["digest"]:
                return
            self._known.files[name] = str(entry["digest"])
            self._writer.event({"kind": "files", "files": {name: entry}}, time_us)
            self.counts["files"] += 1
            return
        step = fitting.step(item.step, self._report)
        if step is not None:
            path, entry = self._put(f"{name}/{step}{fitting.suffix(item.suffix)}", item.source)
            data = {name: entry | {"path": path, "mime": item.mime}}
            self._event({"kind": "file_series", "data": data, "step": step}, time_us, "files")

    def _put(self, name: str, source: Path | bytes) -> tuple[str, dict[str, object]]:
        """Store a file; where its name is taken by a folder (or the reverse), under another."""
        try:
            return name, artifacts.put(self._store, self._run_id, name, source)
        except UserError:
            other = fitting.path(f"{name}/.", self._report)
            return other, artifacts.put(self._store, self._run_id, other, source)

    def _event(self, event: dict[str, Any], time_us: int, what: str, count: int = 1) -> None:
        if not self._known.take(event_mark(event, time_us)):
            self._writer.event(event, time_us)
            self.counts[what] += count
