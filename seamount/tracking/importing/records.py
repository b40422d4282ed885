"""What every source is read as: a run's identity, and the stream of what it logged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from seamount.core.errors import SeamountError, explain_os_error

MAX_REASONS = 10_000

T = TypeVar("T")


@dataclass
class Report:
    """What could not be taken over as it was: (what happened, an example) with how often."""

    problems: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    again: bool = False

    def add(
        self, reason: str, example: object = "", count: int = 1, *, again: bool = False
    ) -> None:
        """Count one more case of `reason`; `again`: the next import may find it otherwise."""
        self.again |= again
        if reason not in self.problems and len(self.problems) >= MAX_REASONS:
            reason, example = "further problems", ""
        self.problems[reason] += count
        self.examples.setdefault(reason, str(example)[:200])

    def rows(self) -> list[dict[str, Any]]:
        """The problems as rows for a table, most frequent first."""
        return [
            {"reason": reason, "count": count, "example": self.examples[reason]}
            for reason, count in self.problems.most_common()
        ]


@dataclass(frozen=True)
class Origin:
    """Where to read: the address, and the folders (or URLs) below which files may be taken."""

    address: str
    files: tuple[str, ...] = ()
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class Config:
    """Configuration values that came together."""

    values: Mapping[str, Any]
    time_us: int


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags set together."""

    values: Mapping[str, str]
    time_us: int


@dataclass(frozen=True, slots=True)
class Points:
    """Metric values of one moment. Without a step each name counts by itself."""

    values: Mapping[str, float]
    step: int | float | None
    time_us: int


@dataclass(frozen=True, slots=True)
class Text:
    """One point of a string series."""

    name: str
    text: str
    step: int | float | None
    time_us: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """One histogram: `kind` is COUNTING or DENSITY, `edges` one more than `values`."""

    name: str
    kind: str
    edges: list[float]
    values: list[float]
    step: int | float | None
    time_us: int


@dataclass(frozen=True, slots=True)
class File:
    """A file: of a series where it has a step. `source` is a path or the bytes themselves."""

    name: str
    source: Path | bytes
    time_us: int
    step: int | float | None = None
    mime: str = "application/octet-stream"
    suffix: str = ""


Item = Config | Tags | Points | Text | Histogram | File


@dataclass
class SourceRun:
    """One run of a source.

    `key` tells it from all other runs of that kind of source, wherever the source is moved;
    `fingerprint` changes whenever the run may have; `items` may be called once. `ended_us` and
    `state` may be set while `items` is being read: they are asked for afterwards.
    """

    key: str
    wanted_id: str
    project: str
    name: str
    owner: str
    created_us: int
    fingerprint: str
    items: Callable[[Report], Iterable[Item]]
    state: str = "Completed"
    ended_us: int | None = None
    deleted: bool = False
    fork_key: str | None = None
    fork_wanted_id: str = ""
    fork_step: float | None = None

    def stream(self, report: Report) -> Iterator[Item]:
        """What the run logged, in the source's order."""
        return iter(self.items(report))


@dataclass(frozen=True)
class Unreadable:
    """What should have been a run (or holds some) and cannot be read; `error` is one sentence."""

    source_id: str
    error: str


def attempted(source_id: str, read: Callable[[], T]) -> T | Unreadable:
    """What `read` gives, or why it gives nothing: one damaged run does not stop the others."""
    try:
        return read()
    except Exception as error:  # a damaged source may fail anywhere in its reader
        return Unreadable(source_id, str(explained(error, source_id)))


def explained(error: Exception, source_id: str) -> SeamountError:
    """What reading a run tripped over, as one sentence."""
    if isinstance(error, OSError):
        return explain_os_error(error, f"importing {source_id}")
    if isinstance(error, SeamountError):
        return error
    return SeamountError(f"{source_id!r} cannot be read ({type(error).__name__}: {error!s:.200})")
