"""Ties a flow run to a tracked run: each names the other, and the tracker sees every station."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prefect import get_run_logger
from prefect.runtime import flow_run
from pydantic_core import to_jsonable_python

from seamount.core import storage
from seamount.tracking.run import Run
from tasks import publish

_FILE = ".run.json"  # hidden: no part of the artefact in the folder


@contextmanager
def tracked_run(out: str, name: str, parameters: Mapping[str, Any]) -> Iterator[Run]:
    """A tracked run for the flow run around it; an unfinished one of the same parameters in `out`
    is continued, other parameters are another run.

    The run carries the flow run's id and name as tags and its parameters as configuration; the
    flow run has the run's address as the artifact `tracked-run`.
    """
    asked = _digest(parameters)
    with Run(name=name, run_id=_unfinished(out, asked)) as run:
        run.add_tags({f"prefect.{key}": value for key, value in _flow_run().items()})
        run.log_configs({"parameters": dict(parameters)})
        mark = {"run_id": run.run_id, "parameters": asked}
        storage.write_json(_file(out), mark | {"state": "Running"})
        text = f"Run `{run.run_id}` of project `{run.project}` in `{run.store}`"
        publish.markdown("tracked-run", text, "The tracked run that holds every number")
        yield run
        storage.write_json(_file(out), mark | {"state": "Completed"})


@contextmanager
def station(run: Run, name: str, says: str) -> Iterator[None]:
    """Log the beginning of a station's work, and its state and duration in the tracked run."""
    get_run_logger().info(says)
    start = time.monotonic()
    state = "Failed"
    try:
        yield
        state = "Completed"
    finally:
        run.log_string_series({f"stations/{name}/state": state})
        run.log_metrics({f"stations/{name}/duration_s": time.monotonic() - start})


def metric_name(component: str) -> str:
    """A component's name as a part of a metric's: bounded, control characters replaced."""
    return "".join(c if c.isprintable() else "_" for c in component)[:200] or "_"


def _flow_run() -> dict[str, str]:
    return {"flow_run_id": str(flow_run.id), "flow_run_name": str(flow_run.name)}


def _file(out: str) -> str:
    return storage.join(out, _FILE)


def _digest(parameters: Mapping[str, Any]) -> str:
    """Names what was asked for: what the flow tracks, and all that it was called with."""
    return storage.digest_of(
        to_jsonable_python([dict(parameters), flow_run.parameters], fallback=str)
    )


def _unfinished(out: str, asked: str) -> str | None:
    if not storage.exists(_file(out)):
        return None
    content = storage.read_json(_file(out))
    same = content.get("parameters") == asked
    return str(content["run_id"]) if same and content["state"] != "Completed" else None
