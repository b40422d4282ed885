"""Metric histories for MLflow's clients and charts, read from the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from mlflow.entities import Metric
from mlflow.entities.metric import MetricWithRunId
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST

from seamount.core.errors import UserError
from seamount.tracking.mlflow_plugin.mirror import MAX_STEP, MAX_VALUE
from seamount.tracking.points.buckets import envelope
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Columns


class MetricHistories:
    """Mix-in for the tracking store: needs `own` and `sync`."""

    own: Store

    def sync(self, run_id: str | None = None) -> None:
        """Bring the index and MLflow's tables up to date."""
        raise NotImplementedError

    def metric_history(
        self, run_id: str, key: str, start: int = 0, end: int | None = None
    ) -> tuple[list[Metric], int]:
        """(points `start` to `end` as MLflow orders them, how many there are in all).

        Its order is time, step, value. Only those asked for become objects.
        """
        found = self._columns(run_id, key)
        values = np.nan_to_num(found.values, nan=0.0, posinf=np.inf, neginf=-np.inf)
        order = np.lexsort((values, found.floors, found.times_us // 1000))[start:end]
        return _metrics(key, found.take(order), chart=False), len(found)

    def get_metric_history_bulk(
        self, run_ids: Sequence[str], metric_key: str, max_results: int
    ) -> list[MetricWithRunId]:
        """Points of several runs, by run id, up to `max_results` in all."""
        found: list[MetricWithRunId] = []
        for run_id in sorted(run_ids):
            metrics, _ = self.metric_history(run_id, metric_key, 0, max_results - len(found))
            found += [MetricWithRunId(run_id=run_id, metric=metric) for metric in metrics]
            if len(found) >= max_results:
                break
        return found

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
            points = self._columns(run_id, metric_key)
            if start_step is not None and end_step is not None:
                first = np.searchsorted(points.floors, start_step, "left")
                points = points.take(
                    slice(first, np.searchsorted(points.floors, end_step, "right"))
                )
            kept = points.take(envelope(points.values, max(1, max_results)))
            found += _of_run(run_id, _metrics(metric_key, kept, chart=True))
        return found

    def get_metric_history_bulk_interval_from_steps(
        self, run_id: str, metric_key: str, steps: Sequence[int], max_results: int
    ) -> list[MetricWithRunId]:
        """The points at these steps, by step."""
        points = self._columns(run_id, metric_key)
        wanted = np.isin(points.floors, np.array(list(steps), np.int64))
        kept = points.take(np.flatnonzero(wanted)[:max_results])
        return _of_run(run_id, _metrics(metric_key, kept, chart=True))

    def get_max_step_for_metric(self, run_id: str, metric_key: str) -> int:
        """The last step of a metric, 0 if it has none."""
        points = self._columns(run_id, metric_key)
        return max(-MAX_STEP, int(points.floors[-1])) if len(points) else 0

    def _columns(self, run_id: str, key: str) -> Columns:
        """Points by step; equal ones (a client that sent a batch twice) count once."""
        self.sync(run_id)
        with self.own.index() as index:
            try:
                found = index.columns(run_id, *_name_and_rank(index, run_id, key))
            except UserError as error:  # a fork whose parent is gone
                raise MlflowException(str(error), RESOURCE_DOES_NOT_EXIST) from error
            return without_repeats(found)


def without_repeats(points: Columns) -> Columns:
    """`points` without those whose step, time and value were there before."""
    steps, times = points.steps, points.times_us
    new = np.ones(len(points), bool)
    new[1:] = (steps[1:] != steps[:-1]) | (times[1:] != times[:-1])
    if new.all():
        return points
    moment = np.cumsum(new)
    value = np.where(np.isnan(points.values), np.nan, points.values + 0.0).view(np.int64)
    order = np.lexsort((value, moment))  # stable: the first of equal ones comes first
    again = (moment[order][1:] == moment[order][:-1]) & (value[order][1:] == value[order][:-1])
    return points.take(np.setdiff1d(np.arange(len(points)), order[1:][again]))


def _name_and_rank(index: Index, run_id: str, key: str) -> tuple[str, int]:
    """`name@rank` taken apart, unless a metric of rank 0 has that very name."""
    name, at, rank = key.rpartition("@")
    if not at or not rank.isdecimal() or index.has_metric(run_id, key, 0):
        return key, 0
    return name, int(rank)


def _metrics(key: str, points: Columns, *, chart: bool) -> list[Metric]:
    """Points as MLflow's Metrics; charts get infinities as the largest double, as MLflow draws."""
    values = np.clip(points.values, -MAX_VALUE, MAX_VALUE) if chart else points.values
    steps = np.maximum(points.floors, -MAX_STEP)
    rows = zip(values.tolist(), (points.times_us // 1000).tolist(), steps.tolist(), strict=True)
    return [Metric(key=key, value=v, timestamp=time, step=step) for v, time, step in rows]


def _of_run(run_id: str, metrics: list[Metric]) -> list[MetricWithRunId]:
    return [MetricWithRunId(run_id=run_id, metric=metric) for metric in metrics]
