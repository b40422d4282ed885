"""MLflow's own checks of what its clients log, each name checked once.

A valid name stays valid, and MLflow's checks of names cost more than all else that a call does.
What is not plainly right goes to MLflow's own check, which says what is wrong in its own words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mlflow.exceptions import MlflowException
from mlflow.utils.validation import (
    MAX_ENTITIES_PER_BATCH,
    MAX_ENTITY_KEY_LENGTH,
    MAX_PARAM_VAL_LENGTH,
    MAX_TAG_VAL_LENGTH,
    _validate_batch_log_limits,
    _validate_metric,
    _validate_param,
    _validate_param_keys_unique,
    _validate_tag,
)

from seamount.core.errors import UserError
from seamount.tracking.names import check_name

_MAX_NAMES = 1 << 16

# Some of what MLflow takes: parts between single slashes that do not begin with a dot.
_PART = r"[A-Za-z0-9_-][A-Za-z0-9_. -]*"
_PLAIN_NAME = re.compile(rf"(?=.{{1,{MAX_ENTITY_KEY_LENGTH}}}\Z){_PART}(?:/{_PART})*")


class Checks:
    """The names that MLflow has accepted in this process: one rule for metrics, params and tags."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def batch(
        self, metrics: Sequence[Any], params: Sequence[Any], tags: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """The batch as MLflow takes it (texts that are too long cut); raises as MLflow does."""
        self.metrics(metrics, "metrics[{}]")
        params = [self.param(p, f"params[{place}]") for place, p in enumerate(params)]
        tags = [self.tag(t, f"tags[{place}]") for place, t in enumerate(tags)]
        if len(metrics) + len(params) + len(tags) > MAX_ENTITIES_PER_BATCH or params or tags:
            _validate_batch_log_limits(metrics, params, tags)
        if len({p.key for p in params}) < len(params):
            _validate_param_keys_unique(params)
        return metrics, params, tags

    def metrics(self, metrics: Sequence[Any], path: str = "") -> None:
        """Raise what MLflow raises for the first metric that is not right."""
        names = self._names
        for place, metric in enumerate(metrics):
            key, value, time, step = metric.key, metric.value, metric.timestamp, metric.step
            plain = type(value) is float and type(time) is int and type(step) is int
            if not (plain and time >= 0 and (key in names or self._is_plain(key))):
                _validate_metric(key, value, time, step, path=path.format(place))
                self._passed(key)

    def param(self, param: Any, path: str = "") -> Any:
        """The param as MLflow keeps it."""
        key, value = param.key, param.value
        short = type(value) is str and len(value) <= MAX_PARAM_VAL_LENGTH
        if short and (key in self._names or self._is_plain(key)):
            return param
        param = _validate_param(key, value, path=path)
        self._passed(key)
        return param

    def tag(self, tag: Any, path: str = "") -> Any:
        """The tag as MLflow keeps it."""
        key, value = tag.key, tag.value
        short = type(value) is str and len(value) <= MAX_TAG_VAL_LENGTH
        if short and (key in self._names or self._is_plain(key)):
            return tag
        tag = _validate_tag(key, value, path=path)
        self._passed(key)
        return tag

    def _is_plain(self, name: Any) -> bool:
        """Whether MLflow accepts `name` for sure."""
        plain = isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None
        if plain:
            self._passed(name)
        return plain

    def _passed(self, name: str) -> None:
        try:
            check_name(name)
        except UserError as error:  # MLflow lets a line break stand at the end
            raise MlflowException.invalid_parameter_value(str(error)) from error
        if len(self._names) >= _MAX_NAMES:
            self._names.clear()
        self._names.add(name)
