"""Cells of query results that are no plain values."""

from __future__ import annotations

from dataclasses import dataclass

_UNITS = ("B", "KB", "MB", "GB")


@dataclass(frozen=True)
class Histogram:
    """A point of a histogram series; `type` is COUNTING or DENSITY."""

    type: str
    edges: list[float]
    values: list[float]


@dataclass(frozen=True)
class File:
    """A file of an experiment or of a run; `download_files` takes it. `path` is RUN/FILE."""

    project_identifier: str
    experiment_name: str | None
    run_id: str | None
    attribute_path: str
    step: float | None
    path: str
    size_bytes: int
    mime_type: str

    def __post_init__(self) -> None:
        if bool(self.experiment_name) == bool(self.run_id):
            raise ValueError("a File has either an experiment_name or a run_id")

    @property
    def container_identifier(self) -> str:
        """The experiment's name, or the run's id."""
        return self.experiment_name or self.run_id or ""

    def __repr__(self) -> str:
        return f"File(size={_size(self.size_bytes)}, mime_type={self.mime_type})"


def _size(size_bytes: int) -> str:
    if size_bytes < 1024:
        return f"{size_bytes} B"
    power = 3 if size_bytes >= 1024**3 else 2 if size_bytes >= 1024**2 else 1
    return f"{size_bytes / 1024**power:.2f} {_UNITS[power]}"
