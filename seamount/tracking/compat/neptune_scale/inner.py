"""From what a script says in Neptune's terms to the Seamount run that keeps it."""

from __future__ import annotations

import dataclasses
import datetime
import mimetypes
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.core.errors import UserError
from seamount.tracking import media, serialisers
from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.compat.neptune_scale import types
from seamount.tracking.importing.ids import candidates
from seamount.tracking.run import Run
from seamount.tracking.store.folder import Store, open_store

CUSTOM_ID, CREATED = "seamount.imported_id", "seamount.created"
GROUP, PLAIN = "group/", "tag"


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
