"""MLflow's tracking store over ours: its clients, `mlflow server` and its UI work on our runs.

MLflow's own SQL store keeps what it does well (search, params, tags, registry, datasets). What its
clients log also goes to segments of ours, so that their runs are our runs; metrics go only there,
and their histories are read from the index. Every question first takes in what was just logged.
"""

from __future__ import annotations

from typing import Any

from mlflow.entities import Metric, RunStatus
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode
from mlflow.store.entities.paged_list import PagedList
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.utils.search_utils import SearchUtils
from mlflow.utils.validation import _validate_metric

from seamount.core import locks
from seamount.tracking.mlflow_plugin import mirror
from seamount.tracking.mlflow_plugin.clients import ClientWriters
from seamount.tracking.mlflow_plugin.history import MetricHistories
from seamount.tracking.mlflow_plugin.mirror import MLFLOW_STATUS
from seamount.tracking.mlflow_plugin.search import RunPages
from seamount.tracking.store.folder import Store, open_store

_OUR_STATE = {theirs: ours for ours, theirs in MLFLOW_STATUS.items()}


class SeamountTrackingStore(MetricHistories, RunPages, SqlAlchemyStore):
    """Tracking store for `seamount:///folder`; made by MLflow through our entry point."""

    def __init__(self, store_uri: str, artifact_uri: str | None = None) -> None:
        self.own = open_store(store_uri)
        self._ready = False
        root = str(self.own.folder / "artifacts")
        if artifact_uri and "://" in artifact_uri and not _is_default(artifact_uri):
            root = artifact_uri
        with locks.held(self.own.folder / "mlflow.lock"):
            super().__init__(_database(self.own), root)
            with self.ManagedSessionMaker(read_only=False) as session:
                mirror.create_table(session)
        self._writers = ClientWriters(self.own)
        self._ready = True

    # ---- before an answer: take in what was logged
    def sync(self, run_id: str | None = None) -> None:
        """Bring the index and MLflow's tables up to date."""
        if not self._ready:
            return
        self.own.refresh(run_id)
        with self.own.index() as index:
            with self.ManagedSessionMaker() as session:
                _, runs = mirror.behind(session, index)
            if not runs:
                return
            experiments = {p: self._experiment_of(p) for p in {r["project"] for r in runs}}
            with self.ManagedSessionMaker(read_only=False) as session:
                mirror.mirror(session, self.own, index, experiments)

    def _experiment_of(self, project: str) -> int:
        """Id of the experiment that shows `project`, made if there is none."""
        found = super().get_experiment_by_name(project)
        if found is None:
            try:
                return int(super().create_experiment(project))
            except MlflowException:
                found = super().get_experiment_by_name(project)  # another process was faster
                if found is None:
                    raise
        return int(found.experiment_id)

    def _get_run(self, session: Any, run_uuid: str, eager: bool = False) -> Any:
        try:
            return super()._get_run(session, run_uuid, eager)
        except MlflowException as error:
            unknown = error.error_code == ErrorCode.Name(RESOURCE_DOES_NOT_EXIST)
            if not unknown or not self._names_run(run_uuid):
                raise
        session.rollback()
        self.sync(run_uuid)
        return super()._get_run(session, run_uuid, eager)

    def _names_run(self, run_id: str) -> bool:
        return "/" not in run_id and (self.own.segments / run_id / "run.json").is_file()

    def get_run(self, run_id: str) -> Any:
        """A run with its latest metrics, params and tags."""
        if self._names_run(run_id):
            self.sync(run_id)
        return super().get_run(run_id)

    def _search_runs(self, *args: Any, **options: Any) -> Any:
        self.sync()
        return super()._search_runs(*args, **options)

    def _search_experiments(self, *args: Any, **options: Any) -> Any:
        self.sync()
        return super()._search_experiments(*args, **options)

    def get_experiment_by_name(self, experiment_name: str) -> Any:
        """An experiment (one of our projects), or None."""
        self.sync()
        return super().get_experiment_by_name(experiment_name)

    # ---- what MLflow's clients write goes to a segment too
    def create_experiment(self, name: str, artifact_location: str | None = None, tags: Any = None):
        """Make an experiment; a local artifact location must lie below the store."""
        if artifact_location:
            self._check_location(artifact_location)
        return super().create_experiment(name, artifact_location, tags)

    def _check_location(self, location: str) -> None:
        from pathlib import Path

        if "://" in location and not location.startswith("file://"):
            return
        local = Path(location.removeprefix("file://").removeprefix("file:"))
        if not local.resolve().is_relative_to(self.own.folder.resolve()):
            raise MlflowException.invalid_parameter_value(
                f"artifact location {location!r} is outside the tracking store: leave it out, "
                f"or choose a folder below {self.own.folder}"
            )

    def create_run(
        self, experiment_id: Any, user_id: Any, start_time: Any, tags: Any, run_name: Any
    ) -> Any:
        """Make a run under MLflow's own id, known to both sides."""
        run = super().create_run(experiment_id, user_id, start_time, tags, run_name)
        project = self.get_experiment(experiment_id).name
        self.own.claim(run.info.run_id, project, _one_line(run.info.run_name))
        writer = self._writers.of(run.info.run_id)
        writer.say({"kind": "state", "state": "Running"})
        writer.say({"kind": "tags", "set": dict(run.data.tags)})
        return run

    def update_run_info(self, run_id: Any, run_status: Any, end_time: Any, run_name: Any) -> Any:
        """Change a run's status, end time (ms) or name."""
        info = super().update_run_info(run_id, run_status, end_time, run_name)
        event: dict[str, Any] = {"kind": "state", "name": run_name and _one_line(run_name)}
        if run_status is not None:
            event["state"] = _OUR_STATE[RunStatus.to_string(run_status)]
            event["ended_us"] = end_time and end_time * 1000
        self._writers.of(run_id).say(event)
        return info

    def set_tag(self, run_id: str, tag: Any) -> None:
        """Set one tag."""
        super().set_tag(run_id, tag)
        self._writers.of(run_id).say({"kind": "tags", "set": {tag.key: str(tag.value)}})

    def _set_tags(self, run_id: str, tags: Any) -> None:
        super()._set_tags(run_id, tags)
        if tags:
            pairs = {tag.key: str(tag.value) for tag in tags}
            self._writers.of(run_id).say({"kind": "tags", "set": pairs})

    def delete_tag(self, run_id: str, key: str) -> None:
        """Take a tag away."""
        super().delete_tag(run_id, key)
        self._writers.of(run_id).say({"kind": "tags", "remove": [key]})

    def log_param(self, run_id: str, param: Any) -> None:
        """Log one param; another value for a known key is refused."""
        super().log_param(run_id, param)
        self._writers.of(run_id).params([param])

    def _log_params(self, run_id: str, params: Any) -> None:
        super()._log_params(run_id, params)
        if params:
            self._writers.of(run_id).params(params)

    def _log_metrics(self, run_id: str, metrics: list[Metric]) -> None:
        """Append to a segment; MLflow's metrics table is not used."""
        for place, metric in enumerate(metrics):
            path = "" if len(metrics) == 1 else f"metrics[{place}]"
            _validate_metric(metric.key, metric.value, metric.timestamp, metric.step, path=path)
        with self.ManagedSessionMaker() as session:
            self._check_run_is_active(self._get_run(session, run_id))
        self._writers.of(run_id).metrics(metrics)

    def delete_run(self, run_id: str) -> None:
        """Mark a run as deleted; `restore_run` takes it back."""
        super().delete_run(run_id)
        self._writers.of(run_id).say({"kind": "deleted", "deleted": True})

    def restore_run(self, run_id: str) -> None:
        """Take back a deletion."""
        super().restore_run(run_id)
        self._writers.of(run_id).say({"kind": "deleted", "deleted": False})

    # ---- metric histories come from the columns
    def get_metric_history(
        self, run_id: str, metric_key: str, max_results: int | None = None, page_token: Any = None
    ) -> PagedList:
        """All values of a metric by time, step and value, in pages if `max_results` is given."""
        start = SearchUtils.parse_start_offset_from_page_token(page_token)
        end = None if max_results is None else start + max_results
        metrics, count = self.metric_history(run_id, metric_key, start, end)
        token = None if end is None or count <= end else SearchUtils.create_page_token(end)
        return PagedList(metrics, token)


def registry(store_uri: str) -> Any:
    """MLflow's SQL model registry in our folder's mlflow.db."""
    from mlflow.store.model_registry.sqlalchemy_store import SqlAlchemyStore as Registry

    store = open_store(store_uri)
    with locks.held(store.folder / "mlflow.lock"):
        return Registry(_database(store))


def _database(store: Store) -> str:
    return f"sqlite:///{store.folder / 'mlflow.db'}"


def _is_default(artifact_uri: str) -> bool:
    """Whether this is what `mlflow server` passes when nobody chose a place for artifacts."""
    return artifact_uri.startswith(("mlflow-artifacts:", "file:", "seamount:"))


def _one_line(name: str) -> str:
    """A run name of MLflow's without what ours may not hold (its own table keeps it whole)."""
    return "".join(c if c.isprintable() else " " for c in name)[:250] or "run"
