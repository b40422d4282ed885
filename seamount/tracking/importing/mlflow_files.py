"""MLflow's store of files: mlruns/EXPERIMENT/RUN/ meta.yaml, metrics/, params/, tags/, artifacts/.

A metric file has a line a point: `time in ms, value, step`, and since datasets `name, digest` too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData
from seamount.tracking.importing import mlflow_words, places
from seamount.tracking.importing.records import (
    Config,
    Item,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
    Unreadable,
    attempted,
)

_META = "meta.yaml"
_TRASH = ".trash"
_MAX_SMALL_BYTES = 1 << 24


def experiments(root: Path) -> list[Path]:
    """Folders of experiments below `root` (or `root` itself), deleted ones last."""
    if not root.is_dir():
        return []
    if (root / _META).is_file() and "experiment_id" in _yaml(root / _META):
        return [root] if "run_id" not in _yaml(root / _META) else []
    found = [*sorted(root.iterdir()), *sorted((root / _TRASH).glob("*"))]
    return [folder for folder in found if (folder / _META).is_file()]


def runs(root: Path, origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """Every run of every experiment below `root`."""
    for folder in experiments(root):
        experiment = attempted(f"experiment {folder.name}", partial(_yaml, folder / _META))
        if isinstance(experiment, Unreadable):
            yield experiment
            continue
        deleted = folder.parent.name == _TRASH or experiment.get("lifecycle_stage") == "deleted"
        for path in sorted(folder.iterdir()):
            if (path / _META).is_file() and (path / "metrics").is_dir():
                one = partial(_run, root, path, str(experiment.get("name")), deleted, origin)
                yield attempted(path.name, one)


def _run(root: Path, path: Path, project: str, deleted: bool, origin: Origin) -> SourceRun:
    meta = _yaml(path / _META)
    reader = _Reader(root, path, path.parent, meta, origin.files)
    run_id = str(meta.get("run_id") or meta.get("run_uuid") or path.name)
    start, end = meta.get("start_time"), meta.get("end_time")
    named = reader.tags().get("mlflow.runName")
    return SourceRun(
        key=run_id,
        wanted_id=run_id,
        project=project,
        name=str(meta.get("run_name") or named or run_id),
        owner=str(meta.get("user_id") or "unknown"),
        created_us=int(start or 0) * 1000,
        fingerprint=reader.fingerprint(),
        items=reader.items,
        state=mlflow_words.state(meta.get("status")),
        ended_us=None if end is None else int(end) * 1000,
        deleted=deleted or meta.get("lifecycle_stage") == "deleted",
    )


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        found = yaml.safe_load(_text(path))
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # such as the date 2026-13-45
        raise CorruptData(f"{path} is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(found, dict):
        raise CorruptData(f"{path} does not describe a run or an experiment")
    return found


def _text(path: Path) -> str:
    with path.open("rb") as stream:
        content = stream.read(_MAX_SMALL_BYTES + 1)
    if len(content) > _MAX_SMALL_BYTES:
        raise CorruptData(f"{path} has over {_MAX_SMALL_BYTES} bytes, too many for what it is")
    return content.decode("utf-8", "replace")


@dataclass
class _Reader:
    root: Path
    path: Path
    experiment: Path
    meta: dict[str, Any]
    roots: tuple[str, ...]

    def fingerprint(self) -> str:
        """Of every file of the run."""
        own = places.state_of(path for _, path in places.below(self.path))
        return places.fingerprint(own, self._artifacts().state())

    def tags(self) -> dict[str, str]:
        """Name -> value of the run's tags."""
        return self._pairs("tags", Report())

    def items(self, report: Report) -> Iterator[Item]:
        """Params, tags, datasets, every line of every metric, artifacts."""
        created_us = int(self.meta.get("start_time") or 0) * 1000
        params = self._pairs("params", report)
        if params:
            yield Config(params, created_us)
        yield Tags(self._pairs("tags", report) | self._datasets(report), created_us)
        for name, path in places.below(self.path / "metrics"):
            if places.allowed(path, (self.path,), report, name):
                yield from _points(name, path, report)
        yield from self._artifacts().items(created_us, report)

    def _artifacts(self) -> mlflow_words.Artifacts:
        """The run's own folder where it has files (a store that was moved), else as it says."""
        own = self.path / "artifacts"
        uri = str(self.meta.get("artifact_uri") or "")
        holds = own.is_dir() and any(True for _ in places.below(own))
        return mlflow_words.Artifacts(
            str(own) if holds or not uri else uri, self.root, (str(self.root), *self.roots)
        )

    def _pairs(self, folder: str, report: Report) -> dict[str, str]:
        return {
            name: _text(path)
            for name, path in places.below(self.path / folder)
            if places.allowed(path, (self.path,), report, name)
        }

    def _datasets(self, report: Report) -> dict[str, str]:
        found: dict[str, str] = {}
        for meta in sorted(self.path.glob(f"inputs/*/{_META}")):
            try:
                used = _yaml(meta)
                if used.get("source_type") != "DATASET":
                    continue
                described = self._dataset(str(used.get("source_id")))
            except (CorruptData, OSError) as error:
                report.add("datasets that cannot be read (left out)", error)
                continue
            described["tags"] = used.get("tags") or {}
            found |= mlflow_words.dataset_tag(described)
        return found

    def _dataset(self, source_id: str) -> dict[str, Any]:
        path = self.experiment / "datasets" / source_id / _META
        if not places.inside(path, (self.experiment,)):
            raise CorruptData(f"{path} lies outside the experiment")
        known = _yaml(path)
        return {key: known.get(key) for key in mlflow_words.DATASET}


def _points(name: str, path: Path, report: Report) -> Iterator[Item]:
    with path.open("r", encoding="utf-8", errors="replace") as stream:
        for line in stream:
            parts = line.split()
            try:
                time_us, value = int(parts[0]) * 1000, float(parts[1])
                step = int(parts[2]) if len(parts) > 2 else 0
            except (IndexError, ValueError):
                if parts:
                    report.add("lines of metrics that cannot be read (left out)", f"{name}: {line}")
                continue
            yield Points({name: value}, step, time_us)
