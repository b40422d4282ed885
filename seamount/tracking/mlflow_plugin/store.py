"""MLflow's tracking store over ours: its clients, `mlflow server` and its UI work on our runs.

MLflow's own SQL store keeps what it does well (search, registry, datasets, traces). What its
clients log goes to segments of ours, so that their runs are our runs (log_calls.py); metric
histories are read from the columns. Every question first takes in what was just logged.
"""

from __future__ import annotations

from typing import Any

from mlflow.entities import RunStatus, ViewType
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import RESOURCE_DOES_NOT_EXIST, ErrorCode
from mlflow.store.entities.paged_list import PagedList
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.utils.mlflow_tags import MLFLOW_LOGGED_MODELS, MLFLOW_RUN_NAME
from mlflow.utils.search_utils import SearchUtils

from seamount.core import locks
from seamount.tracking.mlflow_plugin import mirror
from seamount.tracking.mlflow_plugin.checks import Checks
from seamount.tracking.mlflow_plugin.clients import ClientWriters
from seamount.tracking.mlflow_plugin.history import MetricHistories
from seamount.tracking.mlflow_plugin.known_runs import KnownRuns
from seamount.tracking.mlflow_plugin.log_calls import LogCalls, one_line, say_tags
from seamount.tracking.mlflow_plugin.mirror import MLFLOW_STATUS
from seamount.tracking.mlflow_plugin.search import RunPages
from seamount.tracking.store.folder import Store, open_store
from seamount.tracking.upkeep.deletion import set_deleted
from seamount.tracking.upkeep.gc import remove_run

_OUR_STATE = {theirs: ours for ours, theirs in MLFLOW_STATUS.items()}


class SeamountTrackingStore(LogCalls, MetricHistories, RunPages, SqlAlchemyStore):
    """Tracking store for `seamount:///folder`; made by MLflow through our entry point."""

    def __init__(self, store_uri: str, artifact_uri: str | None = None) -> None:
        self.own = open_store(store_uri)
        self._tables = self.own.folder / "mlflow.db"
        self._ready = False
        root = str(self.own.folder / "artifacts")
        if artifact_uri and "://" in artifact_uri and not _is_default(artifact_uri):
            root = artifact_uri
        with locks.held(self.own.folder / "mlflow.lock"):
            super().__init__(_database(self.own), root)
            mirror.create_table(self._tables)
        self._checks = Checks()
        self._writers = ClientWriters(self.own)
        self._known = KnownRuns(self.own, self._writers, self._adopt)
        self._ready = True

    # ---- before an answer: take in what was logged
    def sync(self, run_id: str | None = None) -> None:
        """Bring the index and MLflow's tables up to date."""
        if not self._ready:
            return
        self.own.refresh(run_id)
        with self.own.index() as index:
            mirror.mirror(self._tables, self.own, index, self._experiment_of)

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
        self._take_over(run)
        return run

    def _take_over(self, run: Any) -> None:
        """Make our side know a run that MLflow's tables have."""
        run_id, project = run.info.run_id, super().get_experiment(run.info.experiment_id).name
        self.own.claim(run_id, project, one_line(run.info.run_name))
        with self._writers.of(run_id) as strand:
            strand.say({"kind": "state", "state": _OUR_STATE[run.info.status]})
            say_tags(strand, dict(run.data.tags))

    def _adopt(self, run_id: str) -> None:
        """Take over a run whose maker died before our side knew it; raises where there is none."""
        self._take_over(SqlAlchemyStore.get_run(self, run_id))

    def update_run_info(self, run_id: Any, run_status: Any, end_time: Any, run_name: Any) -> Any:
        """Change a run's status, end time (ms) or name."""
        self._known.check_active(run_id)
        self.sync(run_id)
        info = super().update_run_info(run_id, run_status, end_time, run_name)
        with self._writers.of(run_id) as strand:
            if run_status is not None:
                state = _OUR_STATE[RunStatus.to_string(run_status)]
                ended_us = end_time and end_time * 1000
                strand.say({"kind": "state", "state": state, "ended_us": ended_us})
            if run_name:
                say_tags(strand, {MLFLOW_RUN_NAME: run_name})
        return info

    def delete_tag(self, run_id: str, key: str) -> None:
        """Take a tag away."""
        self._known.check_active(run_id)
        self.sync(run_id)
        super().delete_tag(run_id, key)
        with self._writers.of(run_id) as strand:
            strand.say({"kind": "tags", "remove": [key]})

    def record_logged_model(self, run_id: str, mlflow_model: Any) -> None:
        """Add a model to the run's list of models, which is a tag."""
        self.sync(run_id)
        super().record_logged_model(run_id, mlflow_model)
        with self.ManagedSessionMaker() as session:
            value = self._try_get_run_tag(session, run_id, MLFLOW_LOGGED_MODELS).value
        with self._writers.of(run_id) as strand:
            say_tags(strand, {MLFLOW_LOGGED_MODELS: value})

    def delete_run(self, run_id: str) -> None:
        """Mark a run as deleted; `restore_run` takes it back."""
        self._mark([self._found(run_id)], True)
        super().delete_run(run_id)

    def restore_run(self, run_id: str) -> None:
        """Take back a deletion."""
        self._mark([self._found(run_id)], False)
        super().restore_run(run_id)

    def delete_experiment(self, experiment_id: Any) -> None:
        """Mark an experiment and its runs as deleted."""
        run_ids = self._run_ids(experiment_id, ViewType.ACTIVE_ONLY)
        super().delete_experiment(experiment_id)
        self._mark(run_ids, True)

    def restore_experiment(self, experiment_id: Any) -> None:
        """Take back the deletion of an experiment and of its runs."""
        run_ids = self._run_ids(experiment_id, ViewType.DELETED_ONLY)
        super().restore_experiment(experiment_id)
        self._mark(run_ids, False)

    def _hard_delete_run(self, run_id: str) -> None:
        """Remove a deleted run for good, from both sides (`mlflow gc`)."""
        self._found(run_id)
        if not remove_run(self.own, run_id):
            raise MlflowException.invalid_parameter_value(
                f"run {run_id} is still being logged by a process: end it, then collect again"
            )

    def _get_deleted_runs(self, older_than: int = 0) -> list[str]:
        self.sync()
        return super()._get_deleted_runs(older_than)

    def _found(self, run_id: str) -> str:
        """`run_id`, if both sides know it by now; raises what MLflow raises otherwise."""
        with self.ManagedSessionMaker() as session:
            self._get_run(session, run_id)
        if not self._names_run(run_id):
            self._adopt(run_id)
        return run_id

    def _run_ids(self, experiment_id: Any, view: Any) -> list[str]:
        self.sync()
        with self.ManagedSessionMaker() as session:
            self._get_experiment(session, experiment_id, view)  # raises where there is none
            return [run.run_uuid for run in self._list_run_infos(session, experiment_id)]

    def _mark(self, run_ids: list[str], deleted: bool) -> None:
        """Say it on our side; whoever logs to these runs looks again before the next call."""
        for run_id in run_ids:
            if self._names_run(run_id):
                set_deleted(self.own, run_id, deleted, flush=len(run_ids) == 1)
                self._writers.let_go(run_id)

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
