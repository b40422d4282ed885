"""From what a script says in Neptune's terms to the Seamount run that keeps it."""

from __future__ import annotations

import dataclasses
import datetime
import logging
import mimetypes
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.core.errors import SeamountError, UserError
from seamount.tracking import media, serialisers
from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.compat.neptune_scale import exceptions, types
from seamount.tracking.importing.ids import candidates
from seamount.tracking.run import Run
from seamount.tracking.store.folder import Store, open_store

log = logging.getLogger("seamount.tracking.compat")

CUSTOM_ID, CREATED = "seamount.imported_id", "seamount.created"
GROUP, PLAIN = "group/", "tag"
Failed = Callable[[BaseException, float | None], None]


def store_of_scripts(*, create: bool = True) -> Store:
    """The store that both modules use."""
    return open_store(settings.neptune_store(), create=create)


def run_id_in(store: Store, project: str, run_id: str) -> str:
    """Our id of Neptune's run `run_id` of `project`, always the same.

    The very id where it is one of ours and not taken by another project; else made from both.
    """
    possible = candidates("neptune", f"{project}/{run_id}", run_id)
    for candidate in possible[:-1]:
        found = store.identity(candidate)
        if found is None or found.project == project:
            return candidate
    return possible[-1]


def start(
    project: str,
    run_id: str | None,
    experiment: str | None,
    created: datetime.datetime | None,
    capture: Capture,
    **fork: Any,
) -> Run:
    """Open the run; what Neptune knows of it beside its name stands in tags."""
    store = store_of_scripts()
    wanted = None if run_id is None else run_id_in(store, project, run_id)
    tags = {} if wanted == run_id else {CUSTOM_ID: run_id}
    if created is not None:
        tags[CREATED] = created.astimezone(datetime.UTC).isoformat()
    return Run(
        project=project, name=experiment, run_id=wanted, store=store.uri,
        tags=tags or None, capture=capture, **fork,
    )  # fmt: skip


def capture(
    console: bool, namespace: str | None, source_namespace: str | None, command: bool, diff: bool
) -> Capture:
    """What is taken in beside what is logged; no source without a namespace for it."""
    return dataclasses.replace(
        Capture(),
        console=None if console else False,
        source=source_namespace is not None and command,
        diff=diff,
        runtime_namespace=(namespace or "").rstrip("/") or "runtime",
        source_namespace=source_namespace or "source_code",
    )


def file(value: Any) -> serialisers.File:
    """A path, bytes or types.File as a file with its MIME type; UserError where it is neither."""
    given = value if isinstance(value, types.File) else types.File(value)
    source = Path(given.source) if isinstance(given.source, str) else given.source
    if isinstance(source, Path) and not source.is_file():
        raise UserError(f"{str(source)!r} is not there or no file")
    if not isinstance(source, bytes | Path):
        raise UserError(f"a file is a path, bytes or a File, not {type(source).__name__}")
    mime = given.mime_type or (
        mimetypes.guess_type(source)[0] if isinstance(source, Path) else None
    )
    return serialisers.File(source, "", mime or "application/octet-stream")


def with_suffix(value: serialisers.File) -> serialisers.File:
    """A file of a series, whose name is its step: its suffix comes from its path or type."""
    suffix = value.source.suffix if isinstance(value.source, Path) else None
    return dataclasses.replace(
        value, suffix=suffix or mimetypes.guess_extension(value.mime_type) or ""
    )


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


def histogram(value: Any) -> media.Histogram:
    """Neptune's histogram as ours; UserError says what does not fit."""
    if not isinstance(value, types.Histogram):
        raise UserError(f"a histogram is a types.Histogram, not {type(value).__name__}")
    try:
        return media.Histogram(
            value.bin_edges_as_list(),
            counts=None if value.counts is None else value.counts_as_list(),
            densities=None if value.densities is None else value.densities_as_list(),
        )
    except TypeError as error:
        raise UserError(str(error)) from error


def tag(name: str, group: bool) -> str:
    """The tag's name in the store: group tags stand below `group/`, as imported ones do."""
    return f"{GROUP}{name}" if group else name


def tag_value(name: str, group: bool) -> str:
    """`true`, but for a plain tag whose name reads like a group tag's."""
    return PLAIN if name.startswith(GROUP) and not group else "true"
