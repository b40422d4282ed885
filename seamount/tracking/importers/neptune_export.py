"""Neptune: the Parquet folders of neptune-exporter, with the files beside them.

One row a value; columns project_id, run_id, attribute_path, attribute_type, step decimal(18, 6),
timestamp (ms UTC), {int, float, string, bool, datetime, string_set}_value, file_value{path},
histogram_value{type, edges, values}. A run's rows stand in RUN_part_N.parquet below the folder of
its project; a part still named .tmp was never finished. Previews of metrics are not in an export.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.tracking.importing import places
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
from seamount.tracking.query.frames import micros

_COLUMNS = {"project_id", "run_id", "attribute_path", "attribute_type", "step", "timestamp"}
_SINGLE = ("float", "int", "string", "bool", "datetime", "string_set")
_SYSTEM = "sys/"
_BATCH_ROWS = 1 << 14
_MAX_ROW_GROUP_BYTES = 1 << 32


def recognises(address: str) -> bool:
    """Whether Parquet files of the exporter's columns stand in or below `address`."""
    path = places.resolve(address)
    for file in _parts(path)[:1]:
        try:
            return set(_open(file).schema_arrow.names) >= _COLUMNS
        except SeamountError:
            return "_part_" in file.name
    return False


def runs(origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """One run for each (project_id, run_id) of the export."""
    root = places.resolve(origin.address)
    parts = _parts(root)
    if not parts:
        raise UserError(f"no Parquet file in {origin.address!r}: give the exporter's data folder")
    for unfinished in sorted(root.rglob("*.parquet.tmp")) if root.is_dir() else ():
        origin.report.add("parts whose export was never finished (left out)", unfinished.name)
    found: dict[tuple[str, str], _Export] = {}
    for part in parts:
        described = attempted(part.name, partial(_described, part))
        if isinstance(described, Unreadable):
            yield described
            continue
        for identity, system in described.items():
            export = found.setdefault(identity, _Export(*identity, root, origin.files))
            export.parts.append(part)
            export.system |= system
    by_sys_id = {
        (e.project_id, str(e.system["sys/id"])): e.run_id
        for e in found.values() if "sys/id" in e.system
    }  # fmt: skip
    exports = found.values()
    yield from _parents_first([attempted(e.run_id, partial(e.run, by_sys_id)) for e in exports])


def _parents_first(found: list[SourceRun | Unreadable]) -> Iterator[SourceRun | Unreadable]:
    """The runs, each behind the one that it was forked from; first those that cannot be read."""
    yield from (each for each in found if isinstance(each, Unreadable))
    readable = [each for each in found if isinstance(each, SourceRun)]
    waiting = {run.key: run for run in readable}
    for run in readable:
        line: list[SourceRun] = []
        key: str | None = run.key
        while key in waiting:
            line.append(waiting.pop(key))
            key = line[-1].fork_key
        yield from reversed(line)


def _parts(path: Path) -> list[Path]:
    if path.is_file():
        return [path] if path.suffix == ".parquet" else []
    return sorted(path.rglob("*.parquet"))


def _open(path: Path) -> Any:
    """An open Parquet file whose parts are of a size that can be read."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UserError("reading Parquet needs pyarrow: pip install pyarrow") from error
    try:
        file = parquet.ParquetFile(path)
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.num_row_groups)]
    except (pyarrow.ArrowException, OSError) as error:
        raise CorruptData(f"{path.name} is no whole Parquet file: {_line(error)}") from error
    if max(sizes, default=0) > _MAX_ROW_GROUP_BYTES:
        raise CorruptData(f"{path.name} has a row group of over {_MAX_ROW_GROUP_BYTES} bytes")
    return file


def _batches(path: Path, columns: list[str] | None = None) -> Iterator[Any]:
    import pyarrow

    file = _open(path)
    try:
        yield from file.iter_batches(_BATCH_ROWS, columns=columns)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise CorruptData(f"{path.name} is damaged: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


def _described(part: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(project_id, run_id) -> its single values below sys/ that stand in this part."""
    from pyarrow import Table, compute

    file = _open(part)
    names = set(file.schema_arrow.names)
    if missing := _COLUMNS - names:
        raise CorruptData(f"{part.name} lacks the columns {', '.join(sorted(missing))}")
    columns = [c for c in (*sorted(_COLUMNS), *(f"{k}_value" for k in _SINGLE)) if c in names]
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for batch in _batches(part, columns):
        pairs = Table.from_batches([batch]).group_by(["project_id", "run_id"]).aggregate([])
        for pair in pairs.to_pylist():
            found.setdefault((pair["project_id"], pair["run_id"]), {})
        kept = compute.starts_with(batch["attribute_path"], _SYSTEM)
        for row in batch.filter(kept).to_pylist():
            value = row.get(f"{row['attribute_type']}_value")
            if row["attribute_type"] in _SINGLE and value is not None:
                found[row["project_id"], row["run_id"]][row["attribute_path"]] = value
    return found


@dataclass
class _Export:
    project_id: str
    run_id: str
    root: Path
    roots: tuple[str, ...]
    parts: list[Path] = field(default_factory=list)
    system: dict[str, Any] = field(default_factory=dict)

    def run(self, by_sys_id: dict[tuple[str, str], str]) -> SourceRun:
        """The run as the system attributes describe it."""
        system = self.system
        parent = system.get("sys/forking/parent")
        parent = by_sys_id.get((self.project_id, str(parent)), parent)
        step = system.get("sys/forking/step")
        created, last = (_us(system.get(f"sys/{n}_time")) for n in ("creation", "modification"))
        name = system.get("sys/experiment/name") or system.get("sys/name") or self.run_id
        return SourceRun(
            key=f"{self.project_id}/{self.run_id}",
            wanted_id=self.run_id,
            project=self.project_id,
            name=str(name),
            owner=str(system.get("sys/owner") or "unknown"),
            created_us=created or 0,
            fingerprint=places.fingerprint(places.state_of(self.parts)),
            items=self.items,
            state="Failed" if system.get("sys/failed") else "Completed",
            ended_us=_us(system.get("sys/ping_time")) or last,
            deleted=bool(system.get("sys/trashed")),
            fork_key=None if parent is None else f"{self.project_id}/{parent}",
            fork_wanted_id=str(parent),
            fork_step=None if step is None else float(step),
        )

    def items(self, report: Report) -> Iterator[Item]:
        """Every row of the run; its single values together at the end, as one configuration."""
        single: dict[str, Any] = {}
        created_us = _us(self.system.get("sys/creation_time")) or 0
        for part in self.parts:
            for row in self._rows(part):
                kind = row["attribute_type"]
                if kind in _SINGLE:
                    value = row.get(f"{kind}_value")
                    if value is not None:  # the exporter writes a row for every run of its batch
                        single[row["attribute_path"]] = _plain(value)
                    continue
                time_us = created_us if row["timestamp"] is None else _us(row["timestamp"])
                yield from self._series(row, kind, time_us or 0, report)
        if single:
            yield Config(single, created_us)
        yield Tags(_tags(single, self.project_id), created_us)

    def _rows(self, part: Path) -> Iterator[dict[str, Any]]:
        """This run's rows in a part (older exports put several runs into one)."""
        from pyarrow import compute

        for batch in _batches(part):
            own = compute.equal(batch["run_id"], self.run_id)
            own = compute.and_(own, compute.equal(batch["project_id"], self.project_id))
            yield from batch.filter(own).to_pylist()

    def _series(
        self, row: dict[str, Any], kind: str, time_us: int, report: Report
    ) -> Iterator[Item]:
        name, step = row["attribute_path"], _step(row["step"])
        if kind == "float_series":
            value = row["float_value"]
            if value is None:
                report.add("points without a value (kept as NaN)", name)
            yield Points({name: float("nan") if value is None else value}, step, time_us)
        elif kind == "string_series" and row["string_value"] is not None:
            yield Text(name, row["string_value"], step, time_us)
        elif kind == "histogram_series" and row["histogram_value"] is not None:
            one = row["histogram_value"]
            edges, values = one["edges"] or [], one["values"] or []
            yield Histogram(name, one["type"] or "COUNTING", edges, values, step, time_us)
        elif kind in ("file", "file_series", "file_set", "artifact"):
            place = (row["file_value"] or {}).get("path")
            if place is not None:
                yield from self._files(name, place, step, time_us, report)
        else:
            report.add(f"rows of type {kind!r} without a value (left out)", name)

    def _files(
        self, name: str, place: str, step: float | None, time_us: int, report: Report
    ) -> Iterator[Item]:
        source, roots = self._find(place)
        if source.is_dir() and places.inside(source, roots):
            for below, path in places.below(source):
                if places.allowed(path, roots, report, name):
                    yield File(f"{name}/{below}", path, time_us)
        elif places.allowed(source, roots, report, name):
            yield File(name, source, time_us, step, suffix=source.suffix)

    def _find(self, place: str) -> tuple[Path, list[Path]]:
        """Where a file_value points to: below the project's folder of the files, or the files'."""
        data = self.parts[0].parent
        bases = [Path(root) for root in self.roots]
        bases += [data.parent.parent / "files", self.root / "files", self.root.parent / "files"]
        bases = [base for base in bases if base.is_dir()] or [self.root]
        tried = [folder / place for base in bases for folder in (base / data.name, base)]
        return next((path for path in tried if path.exists()), tried[0]), bases


def _step(step: Decimal | None) -> int | float | None:
    if step is None:
        return None
    return int(step) if step == step.to_integral_value() else float(step)


def _us(moment: Any) -> int | None:
    return micros(moment) if isinstance(moment, datetime.datetime) else None


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def _tags(single: dict[str, Any], project_id: str) -> dict[str, str]:
    tags = dict.fromkeys(single.get("sys/tags") or (), "true")
    tags |= {f"group/{tag}": "true" for tag in single.get("sys/group_tags") or ()}
    if single.get("sys/description"):
        tags["mlflow.note.content"] = str(single["sys/description"])
    return tags
