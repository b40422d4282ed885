"""Any MLflow tracking URI, through MLflow's own client: servers and other databases."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import SeamountError, UserError
from seamount.tracking.importing import mlflow_words, places
from seamount.tracking.importing.records import (
    Config,
    File,
    Item,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
)

_PAGE = 25_000
_RUNS_PAGE = 1000


def runs(origin: Origin) -> Iterator[SourceRun]:
    """Every run of every experiment that the server at the address shows."""
    try:
        import mlflow
        from mlflow.entities import ViewType
    except ImportError as error:
        raise UserError(
            "reading from an MLflow server needs its client: pip install 'seamount[mlflow]'"
        ) from error
    client = mlflow.MlflowClient(origin.address)
    try:
        experiments = list(_pages(client.search_experiments, view_type=ViewType.ALL))
        for experiment in experiments:
            found = _pages(
                client.search_runs,
                experiment_ids=[experiment.experiment_id],
                run_view_type=ViewType.ALL,
                max_results=_RUNS_PAGE,
            )
            for run in found:
                yield _source_run(client, experiment, run)
    except mlflow.exceptions.MlflowException as error:
        text = " ".join(str(error).split())[:300]
        raise SeamountError(f"cannot read {origin.address!r}: {text}") from error


def _pages(ask: Any, **what: Any) -> Iterator[Any]:
    token = None
    while True:
        page = ask(page_token=token, **what)
        yield from page
        token = page.token
        if not token:
            return


def _source_run(client: Any, experiment: Any, run: Any) -> SourceRun:
    info, reader = run.info, _Reader(client, run)
    return SourceRun(
        key=info.run_id,
        wanted_id=info.run_id,
        project=experiment.name,
        name=info.run_name or info.run_id,
        owner=info.user_id or "unknown",
        created_us=(info.start_time or 0) * 1000,
        fingerprint=reader.fingerprint(),
        items=reader.items,
        state=mlflow_words.state(info.status),
        ended_us=None if info.end_time is None else info.end_time * 1000,
        deleted="deleted" in (info.lifecycle_stage, experiment.lifecycle_stage),
    )


@dataclass
class _Reader:
    client: Any
    run: Any

    def fingerprint(self) -> str:
        """Of all that a page of runs tells: not how many points or files there are."""
        info, data = self.run.info, self.run.data
        last = [[m.key, repr(m.value), m.timestamp, m.step] for m in data._metric_objs]
        parts = (dict(info), dict(data.params), dict(data.tags), sorted(last))
        return places.fingerprint(json.loads(json.dumps(parts, default=str)))

    def items(self, report: Report) -> Iterator[Item]:
        """Params, tags, datasets, every point of every metric, artifacts."""
        report.again |= mlflow_words.state(self.run.info.status) == "Running"
        created_us = (self.run.info.start_time or 0) * 1000
        if self.run.data.params:
            yield Config(dict(self.run.data.params), created_us)
        yield Tags(dict(self.run.data.tags) | self._datasets(), created_us)
        for key in sorted(self.run.data.metrics):
            for metric in self._history(key):
                mlflow_words.tell_clamped(metric.value, key, report)
                yield Points({key: metric.value}, metric.step, metric.timestamp * 1000)
        yield from self._artifacts(created_us, report)

    def _history(self, key: str) -> Iterator[Any]:
        # The client's own get_metric_history may answer the first page only, and not say so.
        store, run_id = self.client._tracking_client.store, self.run.info.run_id
        token = None
        while True:
            page = store.get_metric_history(run_id, key, max_results=_PAGE, page_token=token)
            yield from page
            token = getattr(page, "token", None)
            if not token:
                return

    def _datasets(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for used in self.run.inputs.dataset_inputs if self.run.inputs else ():
            one = used.dataset
            described = {key: getattr(one, key) for key in mlflow_words.DATASET}
            described["tags"] = {tag.key: tag.value for tag in used.tags}
            found |= mlflow_words.dataset_tag(described)
        return found

    def _artifacts(self, time_us: int, report: Report) -> Iterator[Item]:
        from mlflow.exceptions import MlflowException

        run_id = self.run.info.run_id
        with tempfile.TemporaryDirectory() as folder:
            try:
                if not self.client.list_artifacts(run_id):
                    return
                self.client.download_artifacts(run_id, "", folder)
            except (MlflowException, OSError) as error:
                report.add("artifacts that the server did not give", error, again=True)
                return
            for name, path in places.below(Path(folder)):
                if places.allowed(path, (folder,), report, name):
                    yield File(name, path, time_us)
