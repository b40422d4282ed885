"""The run at an MLflow server that stands for one of ours: found by its tag, made once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from seamount.core.errors import SeamountError
from seamount.tracking.delivery.connection import Refused
from seamount.tracking.delivery.local_run import LocalRun, LocalSegment

TAG = "seamount.run_id"
RACE_S = 2.0
_MAX_NAME_CHARS = 250

Call = Callable[[str, str, dict[str, Any]], dict[str, Any]]


class Runs:
    """Runs and experiments through `call(method, name, values)`."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def find_or_make(self, run: LocalRun, segments: list[LocalSegment]) -> dict[str, Any]:
        """{"run_id", "experiment_id"} of the run with our tag, made if there is none.

        The search comes first, since the answer to an earlier creation may have been lost. Hosts of
        one job may create at the same moment: then the first by id stands, and the others go.
        """
        experiment = self._experiment(run.identity.project)
        found = self._search(experiment, run.run_id)
        if not found:
            made = self._make(run, experiment)
            found = [made]
            if _is_shared(segments):
                time.sleep(RACE_S)  # all who saw no run have made theirs by now
                found = self._search(experiment, run.run_id) or found
                if found[0] != made:
                    self._call("POST", "runs/delete", {"run_id": made})
        return {"run_id": found[0], "experiment_id": experiment}

    def remove_doubles(
        self, run: LocalRun, segments: list[LocalSegment], remote: dict[str, Any]
    ) -> None:
        """Delete what a creation made that the server finished after we had given it up."""
        if not _is_shared(segments):
            for other in self._search(remote["experiment_id"], run.run_id, "ACTIVE_ONLY"):
                if other != remote["run_id"]:
                    self._call("POST", "runs/delete", {"run_id": other})

    def get(self, run_id: str) -> dict[str, Any]:
        """{"info", "data"} of a run; raises SeamountError where it was deleted there."""
        try:
            found = self._call("GET", "runs/get", {"run_id": run_id})["run"]
        except Refused as error:
            if error.status != 404:
                raise
            raise _gone(f"run {run_id}") from error
        if found["info"].get("lifecycle_stage") == "deleted":
            raise _gone(f"run {run_id}")
        return {"info": found["info"], "data": found.get("data", {})}

    def _make(self, run: LocalRun, experiment: str) -> str:
        identity = run.identity
        tags = {TAG: run.run_id, "mlflow.user": identity.owner}
        value = {
            "experiment_id": experiment,
            "start_time": identity.created_us // 1000,
            "run_name": identity.name[:_MAX_NAME_CHARS],
            "tags": [{"key": key, "value": text} for key, text in tags.items()],
        }
        return str(self._call("POST", "runs/create", value)["run"]["info"]["run_id"])

    def _search(self, experiment: str, run_id: str, view: str = "ALL") -> list[str]:
        """Ids of the living runs with our tag (else of deleted ones), sorted."""
        value = {
            "experiment_ids": [experiment],
            "filter": f"tags.`{TAG}` = '{run_id}'",
            "run_view_type": view,
            "max_results": 100,
        }
        infos = [r["info"] for r in self._call("POST", "runs/search", value).get("runs", [])]
        living = [i for i in infos if i.get("lifecycle_stage") != "deleted"]
        return sorted(str(info["run_id"]) for info in living or infos)

    def _experiment(self, name: str) -> str:
        found = self._named(name)
        if found is None:
            try:
                return str(
                    self._call("POST", "experiments/create", {"name": name})["experiment_id"]
                )
            except Refused:
                found = self._named(name)  # another host was faster
                if found is None:
                    raise
        if found.get("lifecycle_stage") == "deleted":
            raise _gone(f"experiment {name!r}")
        return str(found["experiment_id"])

    def _named(self, name: str) -> dict[str, Any] | None:
        try:
            asked = {"experiment_name": name}
            return dict(self._call("GET", "experiments/get-by-name", asked)["experiment"])
        except Refused as error:
            if error.status != 404:
                raise
            return None


def _is_shared(segments: list[LocalSegment]) -> bool:
    """Whether other hosts may deliver to the same run."""
    return any(segment.header.world_size > 1 for segment in segments)


def _gone(what: str) -> SeamountError:
    return SeamountError(
        f"{what} was deleted at the MLflow server: restore it there, or let `seamount track sync "
        "--again` make it anew"
    )
