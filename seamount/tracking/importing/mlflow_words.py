"""What MLflow's three kinds of store have in common: states, clamped values, artifacts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from seamount.core import storage
from seamount.tracking.importing import places
from seamount.tracking.importing.records import File, Item, Report

DATASET = ("name", "digest", "source_type", "source", "schema", "profile")
_STATES = {
    "RUNNING": "Running",
    "SCHEDULED": "Scheduled",
    "FINISHED": "Completed",
    "FAILED": "Failed",
    "KILLED": "Interrupted",
}
# mlflow.entities.RunStatus, as the file store writes it
_NUMBERS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
_LARGEST = sys.float_info.max


def state(status: str | int | None) -> str:
    """Our word for a run's status."""
    name = _NUMBERS.get(status) if isinstance(status, int) else status
    return _STATES.get(str(name), "Running")


def dataset_tag(described: Mapping[str, Any]) -> dict[str, str]:
    """A dataset (with the names of DATASET, and its own `tags`) as one tag of the run."""
    name = f"mlflow.dataset/{described.get('name')}@{described.get('digest')}"
    return {name: json.dumps(described, sort_keys=True)}


def tell_clamped(value: float, key: str, report: Report) -> None:
    """MLflow's tables hold an infinity as the largest double: it stays that, and is told."""
    if abs(value) == _LARGEST:
        report.add("values at the largest double (MLflow stores infinities so; kept)", key)


@dataclass(frozen=True)
class Artifacts:
    """A run's artifact folder; `home` is where relative ones begin, `roots` what may be read."""

    uri: str
    home: Path
    roots: tuple[str, ...]

    def state(self) -> list[list[object]]:
        """Names, sizes and times of the files, as a fingerprint needs them."""
        folder = self._folder()
        if folder is None or not places.inside(folder, self.roots):
            return []
        return places.state_of(path for _, path in places.below(folder))

    def items(self, time_us: int, report: Report) -> Iterator[Item]:
        """Every file; what may not be read is told."""
        folder = self._folder()
        if folder is None:
            yield from self._remote(time_us, report)
        elif folder.is_dir() and not places.inside(folder, self.roots):
            report.add(
                "artifact folders outside the source (allow them with --files)", folder, again=True
            )
        else:
            for name, path in places.below(folder):
                if places.allowed(path, self.roots, report, name):
                    yield File(name, path, time_us)

    def _folder(self) -> Path | None:
        scheme = urlparse(self.uri).scheme
        if scheme == "file":
            return self.home / unquote(urlparse(self.uri).path)
        return None if scheme and "://" in self.uri else self.home / self.uri

    def _remote(self, time_us: int, report: Report) -> Iterator[Item]:
        if not any(storage.is_inside(self.uri, root) for root in self.roots if "://" in root):
            report.add(
                "artifacts on other hosts (allow their URL with --files)", self.uri, again=True
            )
            return
        for url in storage.list_files(self.uri):
            yield File(url[len(self.uri) :].lstrip("/"), storage.read_bytes(url), time_us)
