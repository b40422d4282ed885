"""What becomes of values that cannot be logged, and of errors."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from seamount.core import settings
from seamount.core.errors import SeamountError, UserError
from seamount.tracking.compat.neptune_scale import checks, exceptions, inner

log = logging.getLogger("seamount.tracking.compat")

Failed = Callable[[BaseException, float | None], None]


@dataclasses.dataclass
class Faults:
    """What becomes of values that cannot be logged, and of errors that are nobody's mistake.

    Neither stops a training: values are dropped and told, unless NEPTUNE_LOG_FAILURE_ACTION is
    raise; errors go to `on_error`, or are logged.
    """

    on_error: Failed | None
    last: dict[type, float] = dataclasses.field(default_factory=dict)

    def value(self, reason: str) -> None:
        """A value was left out; raises NeptuneUnableToLogData where that is wanted."""
        action = settings.neptune_log_failure_action()
        if action not in ("drop", "raise"):
            raise ValueError(f"NEPTUNE_LOG_FAILURE_ACTION must be drop or raise, not {action!r}")
        if action == "raise":
            raise exceptions.NeptuneUnableToLogData(reason)
        log.warning("Dropping a value: %s", reason)

    def error(self, error: BaseException) -> None:
        """Tell of an error, with the time of the last one of its kind."""
        last = self.last.get(type(error))
        self.last[type(error)] = time.time()
        if self.on_error is None:
            log.error("%s", error)
            return
        try:
            self.on_error(error, last)
        except Exception as fault:
            log.error("on_error_callback failed: %r", fault)

    def attempt(self, action: Callable[[dict[str, Any]], Any], values: Mapping[str, Any]) -> None:
        """`action` with all values at once; where one is refused, with each by itself."""
        try:
            action(dict(values))
        except UserError as error:
            if len(values) <= 1:
                self.value(f"{next(iter(values), '')!r}: {error}")
                return
            for name, value in values.items():
                self.attempt(action, {name: value})
        except SeamountError as error:
            self.error(exceptions.NeptuneUnexpectedError(str(error)))

    def paths(self, data: Mapping[Any, Any]) -> list[str]:
        """The names under which something may be logged; what is wrong with the others is told."""
        kept = []
        for name in data:
            if not isinstance(name, str):
                self.value(f"a path must be text, not {name!r}")
            elif name.startswith(checks.SYSTEM) and name not in checks.WRITABLE:
                self.error(exceptions.NeptuneAttributePathNonWritable())
            else:
                kept.append(name)
        return kept

    def numbers(self, data: Mapping[Any, Any]) -> dict[str, float]:
        """Metrics whose values are numbers, or read as one; the others are told."""
        found = {}
        for name in self.paths(data):
            try:
                found[name] = float(data[name])
            except (ValueError, TypeError, OverflowError):
                self.value(f"metric {name!r} is {str(data[name])[:80]!r}, not a number")
        return found

    def tags(self, tags: Any, group: bool) -> dict[str, str]:
        """Tags by the names and values they have in the store; empty where they are no texts."""
        if not isinstance(tags, list | set | tuple) or any(not isinstance(t, str) for t in tags):
            self.value(f"tags must be a list, set or tuple of str, not {str(tags)[:80]!r}")
            return {}
        return {inner.tag(name, group): inner.tag_value(name, group) for name in tags}

    def configs(self, data: Mapping[Any, Any]) -> dict[str, Any]:
        """Configs that Neptune has a type for; the others are told."""
        found = {}
        for name in self.paths(data):
            try:
                found[name] = checks.config_value(data[name])
            except TypeError as error:
                self.value(f"config {name!r} is {str(data[name])[:80]!r}: {error}")
        return found
