"""Run's arguments, looked at before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.tracking.compat.neptune_scale import checks, exceptions
from seamount.tracking.compat.neptune_scale.faults import log

_MODES = ("async", "offline", "disabled")


def check_types(given: Mapping[str, Any]) -> None:
    """TypeError for the first of Run's arguments that has a wrong type."""
    texts = ("run_id", "project", "api_token", "experiment_name", "fork_run_id")
    for name in (*texts, "runtime_namespace"):
        checks.of_type(name, given[name], str)
    checks.of_type("creation_time", given["creation_time"], datetime)
    checks.of_type("log_directory", given["log_directory"], (str, Path))
    for name in ("fork_step", "async_lag_threshold"):
        checks.of_type(name, given[name], (int, float))
    checks.of_type("enable_console_log_capture", given["enable_console_log_capture"], bool)
    for name in given:
        if name.startswith("on_"):
            checks.callback(name, given[name])


def tell_deprecated(kwargs: Mapping[str, Any], queue: Any, folder: Any) -> None:
    """Warn of arguments that are taken and have no effect."""
    given = {"max_queue_size": queue, "resume": kwargs.get("resume")}
    given["system_namespace"] = kwargs.get("system_namespace")
    for name in (name for name, value in given.items() if value is not None):
        log.warning("`%s` is deprecated and not needed: known runs are resumed", name)
    for name in kwargs.keys() - given.keys():
        log.warning("`%s` is no argument of Run: it is passed over", name)
    if folder is not None:
        log.warning(
            "`log_directory` is passed over: runs are kept in one store, which "
            "NEPTUNE_LOG_DIRECTORY or SEAMOUNT_TRACKING_URI names"
        )


def project(given: str | None) -> str:
    """The project given, else NEPTUNE_PROJECT; NeptuneProjectNotProvided without either."""
    name = given or settings.neptune_project()
    if name is None:
        raise exceptions.NeptuneProjectNotProvided()
    return checks.project(name)


def mode(given: str | None) -> str:
    """The mode given, else NEPTUNE_MODE; ValueError for an unknown one."""
    found = given or settings.neptune_mode()
    if found not in _MODES:
        raise ValueError(f"mode {found!r} is not one of {', '.join(_MODES)}")
    return found
