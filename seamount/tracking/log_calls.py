"""What a run logs beside metrics: configs, texts, histograms, files and tags, each one record."""

from __future__ import annotations

import datetime
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.tracking import names, steps

if TYPE_CHECKING:
    from seamount.tracking.media import Histogram
    from seamount.tracking.segments.writer import SegmentWriter
    from seamount.tracking.store.folder import Store
    from seamount.tracking.upkeep.quota import Room

Timestamp = float | datetime.datetime | None


class LogCalls(ABC):
    """The calls of a Run that append an event; `Run` gives the writer and counts steps."""

    run_id: str
    _rank: int
    _store: Store
    _room: Room | None = None

    @abstractmethod
    def _open(self) -> SegmentWriter:
        """The writer, where the run is not closed."""

    @abstractmethod
    def _count(self, data: Mapping[str, Any]) -> dict[Any, dict[str, Any]]:
        """`data` grouped by the next step of each name, which is then taken."""

    def _event(self, value: dict[str, Any]) -> None:
        self._open().event(value, time.time_ns() // 1000)

    def _series(
        self, kind: str, data: Mapping[str, Any], step: float | None, timestamp: Timestamp
    ) -> None:
        """One event a step: all of `data` at `step`, or each name at its own next one."""
        time_us = time.time_ns() // 1000 if timestamp is None else steps.time_us(timestamp)
        at = self._count(data) if step is None else {steps.check(step): dict(data)}
        for each, group in at.items():
            self._open().event({"kind": kind, "step": each, "data": group}, time_us)

    def log_configs(
        self, data: Any, flatten: bool = True, *, cast_unsupported: bool = False
    ) -> str:
        """Add `data` (dict or dataclass) to the run's configuration as an immutable snapshot.

        Returns the SHA-256 of the values given. Equal values make no new snapshot; other values
        make one more, and all are kept.
        """
        from seamount.tracking.configs import digest, snapshot

        values = snapshot(data, flatten=flatten, cast_unsupported=cast_unsupported)
        content_hash = digest(values)
        self._event({"kind": "config", "digest": content_hash, "values": values})
        return content_hash

    def log_string_series(
        self,
        data: Mapping[str, str],
        step: float | None = None,
        timestamp: Timestamp = None,
    ) -> None:
        """Log texts at `step` (each cut at 1 Mi characters, and marked when it was)."""
        time_us = time.time_ns() // 1000 if timestamp is None else steps.time_us(timestamp)
        cut: dict[str, str] = {}
        for name, text in data.items():
            if not isinstance(text, str):
                raise UserError(f"series {name!r} takes text, not {type(text).__name__}")
            kept = names.unicode_text(text[: names.MAX_TEXT_CHARS])
            cut[names.check_name(name, "series name")] = kept
        shortened = [name for name, text in data.items() if len(text) > names.MAX_TEXT_CHARS]
        at_steps = self._count(cut) if step is None else {steps.check(step): cut}
        for at, group in at_steps.items():
            event: dict[str, Any] = {"kind": "strings", "step": at, "data": group}
            self._open().event(event | ({"cut": shortened} if shortened else {}), time_us)

    def log_histograms(
        self,
        histograms: Mapping[str, Histogram | Any],
        step: float | None = None,
        timestamp: Timestamp = None,
    ) -> None:
        """Log histograms at `step`: `media.Histogram`s, or arrays, cut into 64 equal bins here.

        Raises UserError for edges that do not grow or more than 512 bins.
        """
        from seamount.tracking.media import Histogram

        found = {}
        for name, value in histograms.items():
            one = value if isinstance(value, Histogram) else Histogram.of(value)
            found[names.check_name(name, "series name")] = {
                "type": one.type,
                "edges": list(one.bin_edges),
                "values": list(one.values),
            }
        self._series("histograms", found, step, timestamp)

    def log_files(
        self, files: Mapping[str, Any], step: float | None = None, timestamp: Timestamp = None
    ) -> dict[str, str]:
        """Log a file, figure, table, tensor, `media.Image`, Audio or Video of each name at `step`.

        Values become files of open formats (see serialisers.py), stored once by content; returns
        name -> SHA-256 (not of files beyond the store's quota). They show as NAME/STEP.suffix among
        the run's artifacts (NAME@RANK of other ranks), and every version stays readable.
        """
        from seamount.tracking import serialisers

        self._open()
        encoded = {
            names.check_artifact_path(name): serialisers.encode(value)
            for name, value in files.items()
        }
        at = self._count(encoded) if step is None else {steps.check(step): encoded}
        digests: dict[str, str] = {}
        for each, group in at.items():
            stored = {}
            for name, file in group.items():
                folder = name if self._rank == 0 else f"{name}@{self._rank}"
                path = f"{folder}/{each}{file.suffix}"
                if entry := self._put(path, file.source):
                    stored[name] = entry | {"path": path, "mime": file.mime_type}
                    digests[name] = str(entry["digest"])
            if stored:
                self._series("file_series", stored, each, timestamp)
        return digests

    def assign_files(self, files: Mapping[str, Any]) -> dict[str, str]:
        """Store one file under each name (paths, folders, bytes, any value `log_files` takes).

        A value that is made into a file gets its suffix unless the name has one already. Returns
        name -> SHA-256. An earlier file of that name stays as an earlier version.
        """
        from seamount.tracking import artifacts

        self._open()
        entries = {
            name: entry | {"mime": artifacts.mime_type(name, file)}
            for name, file in artifacts.expand(files).items()
            if (entry := self._put(name, file.source))
        }
        self._event({"kind": "files", "files": entries})
        return {name: str(entry["digest"]) for name, entry in entries.items()}

    def _put(self, name: str, source: str | Path | bytes) -> dict[str, object] | None:
        """Store one file; None where the store's quota leaves no room: told once, and in a tag."""
        from seamount.tracking import artifacts
        from seamount.tracking.upkeep.quota import Room

        if self._room is None:
            self._room = Room(self._store, self.run_id)
        artifacts.check_source(name, source)
        if self._room.takes(name, source):
            return artifacts.put(self._store, self.run_id, name, source)
        self.add_tags({"seamount.refused_files": f"{self._room.refused}, the last: {name}"})
        return None

    def add_tags(self, tags: Mapping[str, Any] | Iterable[str]) -> None:
        """Set tags: a dict of name -> value, or names alone (their value is "true")."""
        if isinstance(tags, str):
            raise UserError(f"tags must be a dict or a list of names, not the text {tags!r}")
        pairs = dict(tags) if isinstance(tags, Mapping) else dict.fromkeys(tags, "true")
        checked = {names.check_name(k, "tag"): names.check_tag_value(v) for k, v in pairs.items()}
        self._event({"kind": "tags", "set": checked})

    def remove_tags(self, tags: Iterable[str]) -> None:
        """Take tags away; unknown names are passed over."""
        self._event({"kind": "tags", "remove": [names.check_name(t, "tag") for t in tags]})
