"""Weights & Biases: `.wandb` logs (also of offline runs), read without the wandb package.

Field numbers are those of wandb_internal.proto (Record and what it holds), checked against
wandb 0.31. Nested metrics are named as W&B shows them (`a.b`); nested configs as ours (`a/b`).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, UserError
from seamount.tracking.configs import snapshot
from seamount.tracking.importing import leveldb_log, places, wandb_values, wire
from seamount.tracking.importing.records import (
    Config,
    File,
    Histogram,
    Item,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
    Text,
    Unreadable,
    attempted,
)

_HISTORY, _SUMMARY, _OUTPUT, _CONFIG, _STATS = 2, 3, 4, 5, 7
_ARTIFACT, _METRIC, _OUTPUT_RAW, _RUN, _EXIT = 8, 12, 13, 17, 18
_LIVES_S = 3600.0
_STREAMS = {0: "stderr", 1: "stdout"}
_MIME = {"image-file": "image/png", "audio-file": "audio/wav", "table-file": "application/json"}


def recognises(address: str) -> bool:
    """Whether there is a .wandb log in or below `address`."""
    path = places.resolve(address)
    return bool(_logs(path)) if path.exists() else False


def runs(origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """One run for each id; the logs of a resumed run belong together."""
    paths = _logs(places.resolve(origin.address))
    if not paths:
        raise UserError(f"no .wandb file in {origin.address!r}: give a wandb folder or a run's")
    found: dict[tuple[str, str, str], list[_Log]] = {}
    for path in paths:
        log = attempted(path.name, partial(_Log.begin, path))
        if isinstance(log, Unreadable):
            yield log
        else:
            found.setdefault((log.entity, log.project, log.run_id), []).append(log)
    for (entity, project, run_id), logs in found.items():
        reader = _Reader(logs, origin.files)
        first = logs[0]
        run = SourceRun(
            key="/".join((entity, project, run_id)),
            wanted_id=run_id,
            project=project or "wandb",
            name=first.name or run_id,
            owner=entity or "unknown",
            created_us=first.start_us,
            fingerprint=reader.fingerprint(),
            items=reader.items,
            state="Running",
        )
        reader.run = run
        yield run


def _logs(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ".wandb" else []
    for pattern in ("*.wandb", "*/*.wandb", "*/*/*.wandb"):
        # resolved: `latest-run` is a link to one of the others
        if found := {p.resolve() for p in path.glob(pattern)}:
            return sorted(found)
    return []


@dataclass
class _Log:
    """One .wandb file and what its first record says of the run."""

    path: Path
    run_id: str
    entity: str
    project: str
    name: str
    start_us: int

    @classmethod
    def begin(cls, path: Path) -> _Log:
        """The log at `path`; raises CorruptData where it names no run."""
        for content in leveldb_log.records(path, Report()):
            record = wire.message(content)
            if _RUN in record:
                run = wire.message(record[_RUN][0])
                run_id, entity, project, name = (wire.text(run, n) for n in (1, 2, 3, 8))
                start_us = wandb_values.timestamp(run.get(17))
                return cls(path, run_id, entity, project, name, start_us)
        raise CorruptData(f"{path} names no run")

    @property
    def files(self) -> Path:
        return self.path.parent / "files"


@dataclass
class _Reader:
    logs: list[_Log]
    roots: tuple[str, ...]
    run: SourceRun = field(init=False)
    summary: dict[str, Any] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    taken: set[Path] = field(default_factory=set)

    def fingerprint(self) -> str:
        """Of the logs and of the files beside them."""
        paths = [
            p for log in self.logs for p in (log.path, *(f for _, f in places.below(log.files)))
        ]
        return places.fingerprint(places.state_of(paths))

    def items(self, report: Report) -> Iterator[Item]:
        """Records in the order of the logs; then the files, the summary and the tags."""
        for log in self.logs:
            self.last_us = log.start_us
            for content in leveldb_log.records(log.path, report):
                yield from self._record(log, wire.message(content), report)
        yield from self._files(report)
        yield from self._last_words()
        if self.run.state == "Running" and not self._lives():
            self.run.state, self.run.ended_us = "Killed", self.last_us

    def _lives(self) -> bool:
        return time.time() - self.logs[-1].path.stat().st_mtime < _LIVES_S

    def _record(self, log: _Log, record: dict[int, list[Any]], report: Report) -> Iterator[Item]:
        if _HISTORY in record:
            yield from self._history(log, wire.message(record[_HISTORY][0]), report)
        elif _STATS in record:
            yield from self._stats(wire.message(record[_STATS][0]))
        elif _OUTPUT in record or _OUTPUT_RAW in record:
            line = wire.message((record.get(_OUTPUT) or record[_OUTPUT_RAW])[0])
            stream = _STREAMS.get(wire.signed(line, 1), "stdout")
            yield Text(
                f"console/{stream}", wire.text(line, 3), None, wandb_values.timestamp(line.get(2))
            )
        elif _RUN in record:
            yield from self._begin(wire.message(record[_RUN][0]), log)
        elif _CONFIG in record:
            yield from _config(wire.message(record[_CONFIG][0]), log.start_us, report)
        elif _SUMMARY in record:
            self.summary |= wandb_values.flat(
                wandb_values.tree(wire.message(record[_SUMMARY][0]), report)
            )
        elif _EXIT in record:
            code = wire.signed(wire.message(record[_EXIT][0]), 1)
            self.run.state = "Failed" if code else "Completed"
            self.run.ended_us = self.last_us
        elif _METRIC in record:
            metric = wire.message(record[_METRIC][0])
            name = wire.text(metric, 1) or wire.text(metric, 2)
            self.tags[f"wandb.step_metric/{name}"] = wire.text(metric, 4)
        elif _ARTIFACT in record:
            artifact = wire.message(record[_ARTIFACT][0])
            report.add("W&B artifacts (named in a tag; their content is not in the log)", "")
            name = f"{wire.text(artifact, 4)}/{wire.text(artifact, 5)}"
            self.tags[f"wandb.artifact/{name}"] = wire.text(artifact, 6)

    def _begin(self, run: dict[int, list[Any]], log: _Log) -> Iterator[Item]:
        self.run.state, self.run.ended_us = "Running", None
        self.tags |= dict.fromkeys(wire.texts(run, 10), "true")
        named = {"wandb.group": 6, "wandb.job_type": 7, "mlflow.note.content": 9, "wandb.sweep": 12}
        self.tags |= {n: wire.text(run, number) for n, number in named.items() if run.get(number)}
        self.tags["seamount.host"] = wire.text(run, 13)
        if run.get(23):
            branch = wire.message(run[23][0])
            self.run.fork_wanted_id = wire.text(branch, 1)
            self.run.fork_key = "/".join((log.entity, log.project, self.run.fork_wanted_id))
            self.run.fork_step = wire.double(branch, 2)
        for config in run.get(4, ()):
            yield from _config(wire.message(config), log.start_us, Report())

    def _history(self, log: _Log, history: dict[int, list[Any]], report: Report) -> Iterator[Item]:
        row = wandb_values.tree(history, report)
        stepped = row.pop("_step", None)
        if not isinstance(stepped, int | float):
            stepped = wire.signed(wire.message(history[2][0]), 1) if history.get(2) else None
        at = row.get("_timestamp")
        if isinstance(at, int | float) and math.isfinite(at):
            self.last_us = round(at * 1e6)
        row.pop("_timestamp", None)
        numbers: dict[str, float] = {}
        for name, value in wandb_values.values(row):
            if isinstance(value, int | float):
                numbers[name] = value
            else:
                yield from self._value(log, name, value, stepped, report)
        if numbers:
            yield Points(numbers, stepped, self.last_us)

    def _value(self, log: _Log, name: str, value: Any, step: Any, report: Report) -> Iterator[Item]:
        """A value that is no number: a histogram, a file, or text."""
        kind = value.get("_type") if isinstance(value, dict) else None
        if kind == "histogram" and isinstance(value.get("bins"), list):
            counts, edges = value.get("values", []), value["bins"]
            yield Histogram(name, "COUNTING", edges, counts, step, self.last_us)
            return
        if kind is not None and isinstance(value.get("path"), str):
            paths = [value["path"]]
        elif kind is not None and isinstance(value.get("filenames"), list):
            paths = [str(path) for path in value["filenames"]]
        else:
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            yield Text(name, text, step, self.last_us)
            return
        for number, path in enumerate(paths):
            source = log.files / path
            if places.allowed(source, (log.files, *self.roots), report, name):
                self.taken.add(source)
                mime = _MIME.get(str(kind), "application/octet-stream")
                each = name if len(paths) == 1 else f"{name}/{number}"
                yield File(each, source, self.last_us, step, mime, source.suffix)
        yield Text(f"{name}.meta", json.dumps(value, sort_keys=True), step, self.last_us)

    def _stats(self, stats: dict[int, list[Any]]) -> Iterator[Item]:
        time_us = wandb_values.timestamp(stats.get(2))
        values = {}
        for content in stats.get(3, ()):
            item = wire.message(content)
            value = wandb_values.parsed(wire.text(item, 16), None)
            if isinstance(value, int | float):
                values[f"system/{wire.text(item, 1)}"] = float(value)
        if values:
            yield Points(values, None, time_us)

    def _files(self, report: Report) -> Iterator[Item]:
        for log in self.logs:
            for name, path in places.below(log.files):
                roots = [log.files, *map(Path, self.roots)]
                if path not in self.taken and places.allowed(path, roots, report, name):
                    yield File(name, path, self.run.created_us)

    def _last_words(self) -> Iterator[Item]:
        if self.summary:
            content = json.dumps(self.summary, sort_keys=True).encode()
            yield File("wandb-summary.json", content, self.last_us)
            shown = {
                k: v
                for k, v in self.summary.items()
                if k[0] != "_" and not wandb_values.is_media(v)
            }
            self.tags |= {
                f"wandb.summary/{k}": v if isinstance(v, str) else json.dumps(v)
                for k, v in shown.items()
            }
        yield Tags(self.tags, self.run.created_us)


def _config(config: dict[int, list[Any]], time_us: int, report: Report) -> Iterator[Item]:
    values = wandb_values.tree(config, report)
    values.pop("_wandb", None)  # the client's own notes about itself
    if values:
        yield Config(snapshot(values), time_us)
