"""Delivery to any MLflow server over its REST API, 2.0.

Exactly once without a key for it: a run is made only after a search for its tag; points are the
same point to the server's SQL tables when key, step, time and value are equal, so that a batch
whose answer was lost is sent again and changes nothing; tags, params and files are replaced by
themselves. What the server will never take is halved down to the one thing and put aside.
"""

from __future__ import annotations

import copy
import json
import time
from typing import Any

from seamount.tracking.configs import as_text
from seamount.tracking.delivery import mlflow_words as words
from seamount.tracking.delivery.connection import Connection, Refused
from seamount.tracking.delivery.local_run import LocalRun, LocalSegment
from seamount.tracking.delivery.mlflow_artifacts import send_file
from seamount.tracking.delivery.mlflow_events import Gathered, Reader
from seamount.tracking.delivery.mlflow_runs import Runs
from seamount.tracking.delivery.state import State
from seamount.tracking.delivery.targets import Save, Target


class MlflowServer(Target):
    """A stock `mlflow server`, or what speaks its REST API."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._runs = Runs(self.call)
        self._params: dict[str, str] = {}
        self._artifact_uri = self._remote_id = ""
        self.forget()

    def forget(self) -> None:
        """Read the run's state at the server again."""
        self._run_id: str | None = None
        self._reader = Reader()
        self._seen: Any = None

    def send(self, run: LocalRun, state: State, save: Save) -> bool:
        """Up to some 20,000 points, then the params, tags and files that came with them."""
        segments = run.segments()
        self._meet(run, segments, state, save)
        found, more = self._reader.gather(segments, state.positions)
        if found.positions:
            after = copy.deepcopy(state)  # all of it counts, or it is sent again
            if not state.positions:
                self._fork(run, found)
            self._metrics(found, after)
            self._texts(found, after)
            self._files(run, found, after)
            for what, number in found.left_out.items():
                after.leave_out(what, number)
            after.positions |= found.positions
            vars(state).update(vars(after))
            save()
        if not more and self._status(run, segments, state):
            save()
        return more

    def _meet(self, run: LocalRun, segments: list[LocalSegment], state: State, save: Save) -> None:
        """Find the run at the server, or make it."""
        if self._run_id == run.run_id:
            return
        self._reader, self._seen = Reader(), None
        if "run_id" not in state.remote:
            state.remote |= self._runs.find_or_make(run, segments)
            save()
        found = self._runs.get(state.remote["run_id"])
        self._artifact_uri = found["info"].get("artifact_uri", "")
        self._params = {p["key"]: p["value"] for p in found["data"].get("params", [])}
        self._run_id, self._remote_id = run.run_id, state.remote["run_id"]

    def _metrics(self, found: Gathered, state: State) -> None:
        refused = self._log("metrics", found.metrics, state)
        state.count("points", len(found.metrics) - refused)

    def _texts(self, found: Gathered, state: State) -> None:
        """Params once; what would change one becomes the tag `seamount.param.NAME`."""
        times = state.remote.setdefault("times", {})
        tags = {words.key(f"seamount.name.{k}"): (0, name) for k, name in found.spelled.items()}
        params = []
        for name, (time_us, value) in found.params.items():
            key, text = words.key(name), as_text(value)[: words.MAX_PARAM_CHARS]
            if times.get(f"param {name}", -1) > time_us:
                continue
            times[f"param {name}"] = time_us
            if self._params.setdefault(key, text) == text:
                params.append(words.pair(key, text, words.MAX_PARAM_CHARS))
            if self._params[key] != text or f"seamount.param.{name}" in times:
                tags[f"seamount.param.{name}"] = (time_us, text)
        state.count("params", len(params) - self._log("params", params, state))
        self._tags(tags | found.tags, times, state)

    def _tags(
        self, tags: dict[str, tuple[int, str | None]], times: dict[str, int], state: State
    ) -> None:
        """The newest word on a tag stands, also where an older one is read later."""
        new = []
        for name, (time_us, value) in tags.items():
            if times.get(name, -1) > time_us:
                continue
            times[name] = time_us
            if value is None:
                self._remove_tag(words.key(name))
            else:
                new.append(words.pair(words.key(name), value, words.MAX_TAG_CHARS))
        state.count("tags", len(new) - self._log("tags", new, state))

    def _remove_tag(self, key: str) -> None:
        try:
            self.call("POST", "runs/delete-tag", {"run_id": self._remote_id, "key": key})
        except Refused as error:
            if error.status not in (400, 404):  # it was not there
                raise

    def _fork(self, run: LocalRun, found: Gathered) -> None:
        """What a fork inherits, at time 0: its own words come after it."""
        identity = run.identity
        for name, value in (identity.inherited_configs or {}).items():
            found.params.setdefault(name, (0, value))
        if identity.fork_run_id is not None:
            found.tags["seamount.fork_run_id"] = (0, identity.fork_run_id)
            found.tags["seamount.fork_step"] = (0, str(identity.fork_step))

    def _files(self, run: LocalRun, found: Gathered, state: State) -> None:
        for name, digest in found.files.items():
            reason = send_file(self.connection, self._artifact_uri, name, run.blob(digest))
            if reason is None:
                state.count("files")
            else:
                state.refuse(f"file {name}", reason)

    def _log(self, kind: str, items: list[dict[str, Any]], state: State) -> int:
        """Log all of them in batches; returns how many were put aside."""
        return sum(self._batch(kind, batch, state) for batch in words.batches(kind, items))

    def _batch(self, kind: str, batch: list[dict[str, Any]], state: State) -> int:
        try:
            self.call("POST", "runs/log-batch", {"run_id": self._remote_id, kind: batch})
            return 0
        except Refused as error:
            self._runs.get(self._remote_id)  # raises where the run itself is gone
            if len(batch) == 1:
                return self._aside(kind, batch[0], error, state)
        middle = len(batch) // 2
        return self._batch(kind, batch[:middle], state) + self._batch(kind, batch[middle:], state)

    def _aside(self, kind: str, item: dict[str, Any], error: Refused, state: State) -> int:
        if kind == "params":
            key = f"seamount.param.{item['key']}"
            return self._batch("tags", [words.pair(words.key(key), item["value"], 8000)], state)
        told = ", ".join(f"{name} {value}" for name, value in item.items())
        state.refuse(f"{kind.removesuffix('s')}: {told}", str(error))
        return 1

    def _status(self, run: LocalRun, segments: list[LocalSegment], state: State) -> bool:
        """Tell how the run stands, if that has changed; the host of rank 0 speaks for all."""
        seen = [(s.path.name, s.size, s.lives) for s in segments]
        if seen == self._seen or not any(s.header.rank == 0 for s in segments):
            return False
        run.store.refresh(run.run_id, light=True)
        with run.store.index() as index:
            row = index.run(run.run_id)
        self._seen = seen
        status = words.STATUS.get(row["state"], "RUNNING")
        told = {"status": status, "run_name": row["name"]}
        if status != "RUNNING" and row["ended_us"]:
            told["end_time"] = row["ended_us"] // 1000
        if told == state.remote.get("status"):
            return False
        self.call("POST", "runs/update", {"run_id": self._remote_id, **told})
        if status != "RUNNING":
            self._runs.remove_doubles(run, segments, state.remote)
        if row["error"]:
            error = json.loads(row["error"])
            text = f"{error['type']}: {error['message']}"
            self._tags({"seamount.error": (time.time_ns() // 1000, text)}, {}, state)
        state.remote["status"] = told
        return True

    def call(self, method: str, name: str, value: dict[str, Any]) -> dict[str, Any]:
        """One call of the REST API: GET with a query, POST with JSON."""
        path = f"/api/2.0/mlflow/{name}"
        if method == "GET":
            return self.connection.request("GET", path, query=value).json()
        body, headers = json.dumps(value).encode(), {"Content-Type": "application/json"}
        once = name == "runs/create"
        return self.connection.request(method, path, body, headers=headers, once=once).json()
