"""The training curve, kept beside the scores: a resumed or reused training has all of it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from seamount.core import storage

Points = list[tuple[float, float]]
_SUFFIX = "/bpb"


class CurveFile:
    """Hands metrics on to `log_metrics` and keeps bits per byte by step in the file `path`.

    Points of an earlier part of the training stay; a step that is done again replaces its point.
    """

    def __init__(self, path: str, log_metrics: Callable[..., None], afresh: bool = False) -> None:
        self.path = path
        self.log_metrics = log_metrics
        self.points: dict[str, dict[float, float]] = {}
        for name, earlier in {} if afresh else read_curves(path).items():
            self.points[name] = dict(earlier)

    def __call__(self, data: dict[str, Any], step: float) -> None:
        """Log `data` at `step`, and remember its bits per byte."""
        self.log_metrics(data, step=step)
        for name, value in data.items():
            if name.endswith(_SUFFIX):
                self.points.setdefault(name.removesuffix(_SUFFIX), {})[step] = value

    def __enter__(self) -> CurveFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        storage.write_json(self.path, {n: sorted(p.items()) for n, p in self.points.items()})


def read_curves(path: str) -> dict[str, Points]:
    """Name ("train", "val") -> (step, bits per byte) in order; nothing where no file is."""
    if not storage.exists(path):
        return {}
    return {n: [(s, v) for s, v in points] for n, points in storage.read_json(path).items()}
