"""What MLflow's clients log: checked as MLflow checks it, appended to a segment, and no more.

MLflow's own tables get it when somebody reads (mirror.py), so a call asks no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME
from mlflow.utils.validation import _validate_run_id

from seamount.tracking.mlflow_plugin.checks import Checks
from seamount.tracking.mlflow_plugin.clients import ClientStrand, ClientWriters
from seamount.tracking.mlflow_plugin.known_runs import Conflicts, KnownRuns


class LogCalls:
    """Mix-in before MLflow's SQL store."""

    _checks: Checks
    _writers: ClientWriters
    _known: KnownRuns

    def log_batch(
        self, run_id: str, metrics: Sequence[Any], params: Sequence[Any], tags: Sequence[Any]
    ) -> None:
        """Log metrics, params and tags; all are checked before the first is logged."""
        _validate_run_id(run_id)
        metrics, params, tags = self._checks.batch(metrics, params, tags)
        self._known.check_active(run_id)
        try:
            self._add_params(run_id, params)
            self._append(run_id, metrics, tags)
        except MlflowException:
            raise
        except Exception as error:  # as MLflow does: the client gets one kind of error
            raise MlflowException(error, INTERNAL_ERROR) from error

    def log_metric(self, run_id: str, metric: Any) -> None:
        """Log one value."""
        self._log_metrics(run_id, [metric])

    def _log_metrics(self, run_id: str, metrics: Sequence[Any]) -> None:
        self._checks.metrics(metrics, "" if len(metrics) == 1 else "metrics[{}]")
        self._known.check_active(run_id)
        self._append(run_id, metrics, [])

    def log_param(self, run_id: str, param: Any) -> None:
        """Log one param; another value for a known key is refused."""
        param = self._checks.param(param)
        self._known.check_active(run_id)
        self._known.add_params(run_id, [param], lambda found: _changed(run_id, found))

    def _log_params(self, run_id: str, params: Sequence[Any]) -> None:
        self._known.check_active(run_id)
        self._add_params(run_id, params)

    def _add_params(self, run_id: str, params: Sequence[Any]) -> None:
        if params:
            self._known.add_params(run_id, params, lambda found: _all_changed(run_id, found))

    def set_tag(self, run_id: str, tag: Any) -> None:
        """Set one tag."""
        tag = self._checks.tag(tag)
        self._known.check_active(run_id)
        self._append(run_id, [], [tag])

    def _set_tags(self, run_id: str, tags: Sequence[Any]) -> None:
        tags = [self._checks.tag(t, f"tags[{place}]") for place, t in enumerate(tags)]
        self._known.check_active(run_id)
        self._append(run_id, [], tags)

    def _append(self: Any, run_id: str, metrics: Sequence[Any], tags: Sequence[Any]) -> None:
        """Append what was checked; what belongs to a logged model goes to MLflow's tables too."""
        with self._writers.of(run_id) as strand:
            if metrics:
                strand.metrics(metrics)
            if tags:
                say_tags(strand, {tag.key: tag.value for tag in tags})
        if any(metric.model_id is not None for metric in metrics):
            with self.ManagedSessionMaker() as session:
                experiment_id = self._get_run(session, run_id).experiment_id
            self._log_model_metrics(run_id, metrics, experiment_id=experiment_id)


def say_tags(strand: ClientStrand, tags: dict[str, str | None]) -> None:
    """Append tags; MLflow's tag for the run's name renames it, and an empty one does nothing."""
    name = tags.get(MLFLOW_RUN_NAME)
    if name:
        strand.say({"kind": "state", "name": one_line(name)})
    elif MLFLOW_RUN_NAME in tags:
        tags = {key: value for key, value in tags.items() if key != MLFLOW_RUN_NAME}
    if tags:
        strand.say({"kind": "tags", "set": {k: str(v) for k, v in tags.items()}})


def one_line(name: str) -> str:
    """A run name of MLflow's without what ours may not hold (its own tag keeps it whole)."""
    return "".join(c if c.isprintable() else " " for c in name)[:250] or "run"


def _changed(run_id: str, found: Conflicts) -> MlflowException:
    ((param, old),) = found
    return MlflowException.invalid_parameter_value(
        f"Changing param values is not allowed. Param with key='{param.key}' was already"
        f" logged with value='{old}' for run ID='{run_id}'. Attempted logging new value"
        f" '{param.value}'."
    )


def _all_changed(run_id: str, found: Conflicts) -> MlflowException:
    told = [{"key": p.key, "old_value": old, "new_value": p.value} for p, old in found]
    return MlflowException.invalid_parameter_value(
        "Changing param values is not allowed. Params were already"
        f" logged='{told}' for run ID='{run_id}'."
    )
