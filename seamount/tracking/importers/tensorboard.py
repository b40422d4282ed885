"""TensorBoard: event files, a run a folder that holds some, read without the tensorboard package.

Field numbers are those of TensorFlow's event.proto, summary.proto, tensor.proto and of the hparams
plugin. Scalars, texts, histograms, images, audio and hparams become ours; what another
plugin wrote is kept as the file of its own message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.importing import event_values, places, tfrecord, wire
from seamount.tracking.importing.records import (
    Config,
    File,
    Item,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
    Unreadable,
    attempted,
)

_MARK = "tfevents"
_FLOAT = struct.Struct("<f")


def recognises(address: str) -> bool:
    """Whether event files stand in or below `address`."""
    path = places.resolve(address)
    if path.is_file():
        return _MARK in path.name
    return path.is_dir() and any(True for _ in path.rglob(f"*{_MARK}*"))


def runs(origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """One run for each folder with event files, named by its path below the source."""
    root = places.resolve(origin.address)
    files = [root] if root.is_file() else sorted(root.rglob(f"*{_MARK}*"))
    base = root.parent if root.is_file() else root
    folders: dict[Path, list[Path]] = {}
    for file in files:
        if places.allowed(file, (base, *origin.files), origin.report, file.name):
            folders.setdefault(file.parent, []).append(file)
    if not folders and not origin.report.problems:
        raise UserError(
            f"no event files in {origin.address!r}: give the folder of a TensorBoard log"
        )
    for folder, paths in folders.items():
        name = folder.name if folder == base else folder.relative_to(base).as_posix()
        yield attempted(name, partial(_run, name, base.name, paths))


def _run(name: str, project: str, paths: list[Path]) -> SourceRun:
    reader = _Reader(paths)
    first = reader.first()
    reader.run = SourceRun(
        key=f"{paths[0].parent.name}/{paths[0].name}/{first}",
        wanted_id=name,
        project=project,
        name=name,
        owner="unknown",
        created_us=round(first * 1e6),
        fingerprint=places.fingerprint(places.state_of(paths)),
        items=reader.items,
    )
    return reader.run


@dataclass
class _Reader:
    paths: list[Path]
    run: SourceRun = field(init=False)
    plugins: dict[str, str] = field(default_factory=dict)
    ended: bool = False

    def first(self) -> float:
        """Time of the first event, in seconds since 1970 UTC; 0 in an empty log."""
        for path in self.paths:
            for content in tfrecord.records(path, Report()):
                return wire.double(wire.message(content), 1)
        return 0.0

    def items(self, report: Report) -> Iterator[Item]:
        """Every value of every event, in the order of the files."""
        for path in self.paths:
            for content in tfrecord.records(path, report):
                event = wire.message(content)
                time_us = round(wire.double(event, 1) * 1e6)
                step = wire.signed(event, 2)
                for number, name in ((4, "graph"), (9, "meta_graph")):
                    for graph in event.get(number, ()):
                        yield File(f"tensorboard/{name}", graph, time_us, step, suffix=".pb")
                for summary in event.get(5, ()):
                    for value in wire.message(summary).get(1, ()):
                        yield from self._value(value, step, time_us, report)
        if not self.ended:
            yield Tags(
                {"seamount.import_end": "the log does not say how it ended"}, self.run.created_us
            )

    def _value(self, content: bytes, step: int, time_us: int, report: Report) -> Iterator[Item]:
        value = wire.message(content)
        tag = wire.text(value, 1)
        plugin = self._plugin(tag, value)
        if plugin is not None and plugin[0] == "hparams":
            yield from self._hparams(plugin[1], time_us)
        elif value.get(2):
            yield Points({tag: _FLOAT.unpack(value[2][-1])[0]}, step, time_us)
        elif value.get(4):
            image = wire.message(value[4][-1]).get(4, [b""])[-1]
            yield event_values.picture(tag, image, step, time_us)
        elif value.get(5):
            yield event_values.old_histogram(tag, wire.message(value[5][-1]), step, time_us)
        elif value.get(6):
            audio = wire.message(value[6][-1])
            yield event_values.sound(tag, audio.get(4, [b""])[-1], step, time_us)
        elif value.get(8):
            name = self.plugins.get(tag, "")
            yield from event_values.tensor(tag, name, value[8][-1], step, time_us, report)
        else:
            report.add("summary values of an unknown kind (kept as files)", tag)
            yield File(tag, content, time_us, step, suffix=".pb")

    def _plugin(self, tag: str, value: dict[int, list[Any]]) -> tuple[str, bytes] | None:
        """(plugin, its content) where this value names one: only the first value of a tag does."""
        for metadata in value.get(9, ()):
            data = wire.message(metadata).get(1)
            if data:
                found = wire.message(data[-1])
                self.plugins[tag] = wire.text(found, 1)
                return self.plugins[tag], found.get(2, [b""])[-1]
        return None

    def _hparams(self, content: bytes, time_us: int) -> Iterator[Item]:
        """The hparams plugin: settings when a session starts, its status when it ends."""
        data = wire.message(content)
        for start in data.get(3, ()):
            values = event_values.hparams(wire.message(start))
            if values:
                yield Config(values, time_us)
        for end in data.get(4, ()):
            found = wire.message(end)
            self.run.state = {2: "Failed", 3: "Running"}.get(wire.signed(found, 1), "Completed")
            if seconds := wire.double(found, 2):
                self.run.ended_us = round(seconds * 1e6)
            self.ended = True
        for experiment in data.get(2, ()):
            yield File("tensorboard/hparams_experiment.pb", experiment, time_us)
