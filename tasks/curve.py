"""The training curve, kept beside the scores: a resumed or reused training has all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import IO, Any

from seamount.core import storage

Points = list[tuple[float, float]]
_SUFFIX = "/bpb"


class CurveFile:
    """Hands metrics on to `log_metrics` and keeps bits per byte by step in the local file `path`.

    Points of an earlier part of the training stay, even of one that was killed: until the end each
    is a line of a journal beside the file. A step that is done again replaces its point.
    """

    def __init__(self, path: str, log_metrics: Callable[..., None], afresh: bool = False) -> None:
        self.path = path
        self.log_metrics = log_metrics
        self.points: dict[str, dict[float, float]] = {}
        if afresh:
            storage.remove_tree(_journal(path))
            return
        for name, earlier in read_curves(path).items():
            self.points[name] = dict(earlier)
        for name, step, value in _left_by_a_kill(path):
            self._remember(name, step, value)

    def __call__(self, data: dict[str, Any], step: float) -> None:
        """Log `data` at `step`, and remember its bits per byte."""
        self.log_metrics(data, step=step)
        for key, value in data.items():
            if key.endswith(_SUFFIX):
                name = key.removesuffix(_SUFFIX)
                self._remember(name, step, value)
                self._lines.write(json.dumps([name, step, value]) + "\n")

    def __enter__(self) -> CurveFile:
        self._write()  # what the journal held is safe before it begins anew
        path = storage.local_path(_journal(self.path))
        self._lines: IO[str] = path.open("w", encoding="utf-8", buffering=1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()
        self._write()
        storage.remove_tree(_journal(self.path))

    def _remember(self, name: str, step: float, value: float) -> None:
        self.points.setdefault(name, {})[step] = value

    def _write(self) -> None:
        storage.write_json(self.path, {n: sorted(p.items()) for n, p in self.points.items()})


def _journal(path: str) -> str:
    return f"{path}l"


def _left_by_a_kill(path: str) -> list[tuple[str, float, float]]:
    """Points of the journal; what a power cut tore at its end is passed over."""
    if not storage.exists(_journal(path)):
        return []
    found = []
    for line in storage.read_bytes(_journal(path)).splitlines():
        try:
            name, step, value = json.loads(line)
        except ValueError:
            break
        found.append((name, step, value))
    return found


def read_curves(path: str) -> dict[str, Points]:
    """Name ("train", "val") -> (step, bits per byte) in order; nothing where no file is."""
    if not storage.exists(path):
        return {}
    return {n: [(s, v) for s, v in points] for n, points in storage.read_json(path).items()}
