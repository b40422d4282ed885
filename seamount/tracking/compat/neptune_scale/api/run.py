"""neptune_scale's Run on a Seamount store: the same arguments, methods and checks.

Nothing waits for a network or needs a `__main__` guard, and forked children may log.
docs/tracking/neptune.md says what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from seamount.tracking import run
from seamount.tracking.compat.neptune_scale import (
    arguments,
    checks,
    inner,
    source,
    types,
)
from seamount.tracking.compat.neptune_scale.faults import Faults

Callback = Callable[[BaseException, float | None], None]
Tags = list[str] | set[str] | tuple[str, ...]
Files = dict[str, str | Path | bytes | types.File]


@dataclass
class SourceTrackingConfig:
    """What is logged of the source code, below `namespace`.

    `repository` is a folder of a git repository (default: that of the working folder). The command
    has values after names like `token` masked.
    """

    namespace: str = "source_code"
    repository: Path | None = None
    upload_run_command: bool = True
    upload_entry_point: bool = False
    upload_diff_head: bool = False
    upload_diff_upstream: bool = False


class Run(AbstractContextManager["Run"]):
    """A run that logs in Neptune's terms; a known `run_id` of the project is joined or resumed.

    `project` (or NEPTUNE_PROJECT) is WORKSPACE/PROJECT. `mode` "async" and "offline" are one here,
    "disabled" logs nothing. Taken and not needed: `api_token`, `log_directory`, the callbacks but
    `on_error_callback(error, time_of_the_last_one)`. Raises TypeError and ValueError as Neptune's
    client does, NeptuneProjectNotProvided, and UserError where the store cannot be written.
    """

    def __init__(
        self,
        *,
        run_id: str | None = None,
        project: str | None = None,
        api_token: str | None = None,
        mode: Literal["async", "offline", "disabled"] | None = None,
        experiment_name: str | None = None,
        creation_time: datetime | None = None,
        fork_run_id: str | None = None,
        fork_step: int | float | None = None,
        log_directory: str | Path | None = None,
        max_queue_size: int | None = None,
        async_lag_threshold: float | None = None,
        on_async_lag_callback: Callable[[], None] | None = None,
        on_queue_full_callback: Callback | None = None,
        on_network_error_callback: Callback | None = None,
        on_error_callback: Callback | None = None,
        on_warning_callback: Callback | None = None,
        enable_console_log_capture: bool = True,
        runtime_namespace: str | None = None,
        source_tracking_config: SourceTrackingConfig | None = SourceTrackingConfig(),  # noqa: B008
        inherit_configs: bool = True,
        **kwargs: Any,
    ) -> None:
        arguments.check_types(locals())
        arguments.tell_deprecated(kwargs, max_queue_size, log_directory)
        self._project = arguments.project(project)
        if (fork_run_id is None) != (fork_step is None):
            raise ValueError("`fork_run_id` and `fork_step` must be used together")
        if (on_async_lag_callback is None) != (async_lag_threshold is None):
            raise ValueError("`on_async_lag_callback` must be used with `async_lag_threshold`")
        for name, value in (("run_id", run_id), ("fork_run_id", fork_run_id)):
            if value is not None:
                checks.run_id(name, value)
        if experiment_name is not None:
            checks.text("experiment_name", experiment_name)
        self._experiment_name, self._fork_step = experiment_name, fork_step
        self._faults = Faults(on_error_callback)
        self._run: run.Run | None = None
        self._closed = arguments.mode(mode) == "disabled"
        if self._closed:
            self._run_id = run_id or "disabled"
            return
        space = kwargs.get("system_namespace") if runtime_namespace is None else runtime_namespace
        tracked = source_tracking_config
        self._run = inner.start(
            self._project,
            run_id,
            experiment_name,
            creation_time,
            inner.capture(
                enable_console_log_capture,
                space,
                None if tracked is None else tracked.namespace,
                bool(tracked and tracked.upload_run_command),
                bool(tracked and tracked.upload_diff_head),
            ),
            **self._fork(fork_run_id, fork_step, inherit_configs),
        )
        self._run_id = run_id or self._run.run_id
        if tracked is not None:
            configs, files = source.describe(tracked)
            self.log_configs(configs)
            self.assign_files(files)

    def _fork(self, parent: str | None, step: float | None, inherit: bool) -> dict[str, Any]:
        if parent is None:
            return {}
        ours = inner.run_id_in(inner.store_of_scripts(), self._project, parent)
        return {"fork_run_id": ours, "fork_step": step, "inherit_configs": inherit}

    def log_metrics(
        self,
        data: dict[str, float | int],
        step: float | int,
        *,
        timestamp: datetime | None = None,
        preview: bool = False,
        preview_completion: float | None = None,
    ) -> None:
        """Log numbers at `step` (0 or more, in any order); NaN and infinities are kept."""
        checks.of_type("timestamp", timestamp, datetime)
        checks.step(step, optional=True)
        checks.of_type("metrics", data, dict, optional=False)
        completion = checks.preview(preview, preview_completion)
        how: dict[str, Any] = {"preview": True, "preview_completion": completion} if preview else {}
        if (to := self._to()) is not None:
            numbers = self._faults.numbers(data)
            self._faults.attempt(lambda d: to.log_metrics(d, step, timestamp, **how), numbers)

    def log_configs(
        self,
        data: Mapping[str, Any] | Any | None,
        flatten: bool = False,
        cast_unsupported: bool = False,
    ) -> None:
        """Log single values: float, int, bool, str, datetime, sets of str.

        A value logged again replaces the one before in what is shown; every snapshot is kept.
        """
        if data is None:
            return
        given = checks.configs(data, flatten=flatten, cast=cast_unsupported)
        if (to := self._to()) is not None and given:
            values = self._faults.configs(given)
            if values:
                self._faults.attempt(lambda d: to.log_configs(d, flatten=False), values)

    def log_string_series(
        self,
        data: dict[str, str],
        step: float | int,
        *,
        timestamp: datetime | None = None,
    ) -> None:
        """Log texts at `step`; a text of over 1 Mi characters is cut, and marked."""
        self._series("string_series", "log_string_series", data, step, timestamp)

    def log_histograms(
        self,
        histograms: dict[str, types.Histogram],
        step: float | int,
        *,
        timestamp: datetime | None = None,
    ) -> None:
        """Log histograms at `step`."""
        self._series("histograms", "log_histograms", histograms, step, timestamp, inner.histogram)

    def log_files(
        self,
        files: Files,
        step: float | int,
        *,
        timestamp: datetime | None = None,
    ) -> None:
        """Log one file a name at `step`; a file that cannot be read is told and left out."""
        self._series("file_series", "log_files", files, step, timestamp, _series_file)

    def assign_files(self, files: Files) -> None:
        """Store one file under each name; the newest one shows, earlier ones are kept."""
        checks.of_type("files", files, dict)
        if (to := self._to()) is not None and files:
            self._attempt_each(to.assign_files, files, inner.file)

    def add_tags(self, tags: Tags, group_tags: bool = False) -> None:
        """Add tags (sys/tags), or group tags (sys/group_tags)."""
        if (to := self._to()) is not None and (names := self._faults.tags(tags, group_tags)):
            self._faults.attempt(to.add_tags, names)

    def remove_tags(self, tags: Tags, group_tags: bool = False) -> None:
        """Take tags away; unknown ones are passed over."""
        if (to := self._to()) is not None and (names := self._faults.tags(tags, group_tags)):
            self._faults.attempt(to.remove_tags, names)

    def log(
        self,
        step: float | int | None = None,
        timestamp: datetime | None = None,
        configs: dict[str, Any] | None = None,
        metrics: dict[str, float | int] | None = None,
        tags_add: dict[str, Tags] | None = None,
        tags_remove: dict[str, Tags] | None = None,
    ) -> None:
        """Several kinds of values in one call (kept for old scripts)."""
        for name, value in (("configs", configs), ("add", tags_add), ("remove", tags_remove)):
            checks.of_type(name, value, dict)
        self.log_configs(configs)
        if metrics is not None:
            self.log_metrics(metrics, step, timestamp=timestamp)  # type: ignore[arg-type]
        for pairs, call in ((tags_add, self.add_tags), (tags_remove, self.remove_tags)):
            for path, tags in (pairs or {}).items():
                call(tags, group_tags=path == "sys/group_tags")

    def wait_for_submission(self, timeout: float | None = None, verbose: bool = True) -> bool:
        """Wait until all that this process logged would survive a power cut; always True."""
        if (to := self._to()) is not None:
            to.barrier()
        return True

    def wait_for_processing(self, timeout: float | None = None, verbose: bool = True) -> bool:
        """The same: what is logged can be read at once."""
        return self.wait_for_submission(timeout, verbose)

    def close(self, timeout: float | None = None) -> None:
        """End this process's part of the run; later calls log nothing."""
        if self._run is not None and not self._closed:
            self._closed = True
            self._run.close()

    def terminate(self) -> None:
        """The same as close: nothing has to be sent."""
        self.close(timeout=0)

    def get_run_url(self) -> str:
        """Address of the run: its store, then its id."""
        return f"seamount://disabled#{self._run_id}" if self._run is None else self._run.url

    def get_experiment_url(self) -> str:
        """Address of the experiment's run; ValueError without `experiment_name`."""
        if self._experiment_name is None:
            raise ValueError("`experiment_name` was not provided during Run initialization")
        return self.get_run_url()

    def __enter__(self) -> Run:
        if self._run is not None:
            self._run.__enter__()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._run is not None:
            self._closed = True
            self._run.__exit__(exc_type, exc_value, traceback)

    def _to(self) -> run.Run | None:
        return None if self._closed else self._run

    def _series(
        self,
        what: str,
        method: str,
        data: Any,
        step: Any,
        timestamp: Any,
        convert: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        checks.of_type("timestamp", timestamp, datetime)
        checks.step(step)
        checks.of_type(what, data, dict, optional=False)
        if (to := self._to()) is not None and data:
            log = getattr(to, method)
            self._attempt_each(lambda d: log(d, step, timestamp), data, convert)

    def _attempt_each(
        self, action: Callable[[dict[str, Any]], Any], data: Mapping[str, Any], convert: Any
    ) -> None:
        paths = self._faults.paths(data)
        self._faults.attempt(
            lambda some: action({name: convert(value) for name, value in some.items()}),
            {name: data[name] for name in paths},
        )


def _series_file(value: Any) -> Any:
    return inner.with_suffix(inner.file(value))
