"""Metric histories for MLflow's clients and charts, read from the index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mlflow.entities import Metric
from mlflow.entities.metric import MetricWithRunId
from mlflow.exceptions import MlflowException

from seamount.tracking.buckets import envelope
from seamount.tracking.index import Index, Point
from seamount.tracking.mlflow_mirror import plain_value, whole_step
from seamount.tracking.store import Store


class MetricHistories:
    """Mix-in for the tracking store: needs `own` and `sync`."""

    own: Store

    def sync(self, run_id: str | None = None) -> None:
        """Bring the index and MLflow's tables up to date."""
        raise NotImplementedError

    def metric_history(self, run_id: str, key: str) -> list[Metric]:
        """Every point as MLflow orders them: by time, step, value."""
        metrics = [_metric(key, p, chart=False) for p in self._points(run_id, key)]
        return sorted(metrics, key=lambda m: (m.timestamp, m.step, _sortable(m.value)))

    def get_metric_history_bulk(
        self, run_ids: Sequence[str], metric_key: str, max_results: int
    ) -> list[MetricWithRunId]:
        """Points of several runs, by run id, up to `max_results` in all."""
        found = [
            MetricWithRunId(run_id=run_id, metric=metric)
            for run_id in sorted(run_ids)
            for metric in self.metric_history(run_id, metric_key)
        ]
        return found[:max_results]

    def get_metric_history_bulk_interval(
        self,
        run_ids: Sequence[str],
        metric_key: str,
        max_results: int,
        start_step: int | None,
        end_step: int | None,
    ) -> list[MetricWithRunId]:
        """What a chart draws: up to `max_results` points a run that keep every spike."""
        if (start_step is None) != (end_step is None):
            raise MlflowException.invalid_parameter_value("give both start_step and end_step")
        found = []
        for run_id in run_ids:
            points = self._points(run_id, metric_key)
            if start_step is not None and end_step is not None:
                points = [p for p in points if start_step <= p.step <= end_step]
            for point in envelope(points, max(1, max_results)):
                metric = _metric(metric_key, point, chart=True)
                found.append(MetricWithRunId(run_id=run_id, metric=metric))
        return found

    def get_metric_history_bulk_interval_from_steps(
        self, run_id: str, metric_key: str, steps: Sequence[int], max_results: int
    ) -> list[MetricWithRunId]:
        """The points at these steps, by step."""
        wanted = set(steps)
        points = [p for p in self._points(run_id, metric_key) if whole_step(p.step) in wanted]
        return [
            MetricWithRunId(run_id=run_id, metric=_metric(metric_key, p, chart=True))
            for p in points[:max_results]
        ]

    def get_max_step_for_metric(self, run_id: str, metric_key: str) -> int:
        """The last step of a metric, 0 if it has none."""
        points = self._points(run_id, metric_key)
        return whole_step(points[-1].step) if points else 0

    def _points(self, run_id: str, key: str) -> list[Point]:
        """Points by step; equal ones (a client that sent a batch twice) count once."""
        self.sync(run_id)
        with self.own.index() as index:
            points = index.history(run_id, *_name_and_rank(index, run_id, key))
        seen: dict[tuple[Any, ...], Point] = {
            (p.step, p.time_us, p.value if p.value == p.value else None): p for p in points
        }
        return list(seen.values())


def _name_and_rank(index: Index, run_id: str, key: str) -> tuple[str, int]:
    """`name@rank` taken apart, unless a metric of rank 0 has that very name."""
    name, at, rank = key.rpartition("@")
    if not at or not rank.isdecimal() or index.has_metric(run_id, key, 0):
        return key, 0
    return name, int(rank)


def _metric(key: str, point: Point, *, chart: bool) -> Metric:
    """A point as MLflow's Metric; charts get infinities as the largest double, as MLflow draws."""
    value = point.value
    if chart and math.isinf(value):
        value = plain_value(value)[0]
    return Metric(
        key=key, value=value, timestamp=point.time_us // 1000, step=whole_step(point.step)
    )


def _sortable(value: float) -> float:
    return 0.0 if math.isnan(value) else value
