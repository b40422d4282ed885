"""Pages of runs for MLflow's clients: chosen and ordered by MLflow's own SQL, read without its ORM.

MLflow makes an object of its mapper for each param, metric and tag of a page before it makes the
entity that the client gets; for 1,000 runs of 250 values that is most of the time a search takes.
Here the page's ids come first, then its rows as plain tuples.
"""

from __future__ import annotations

import json
from typing import Any

from mlflow.entities import (
    LifecycleStage,
    Metric,
    Run,
    RunData,
    RunInfo,
    RunInputs,
    RunOutputs,
)
from mlflow.store.tracking.dbmodels.models import SqlRun
from mlflow.store.tracking.sqlalchemy_store import (
    _get_orderby_clauses,
    _get_sqlalchemy_filter_clauses,
    _parse_experiment_ids,
)
from mlflow.utils.search_utils import SearchUtils
from sqlalchemy import select

_OF_PAGE = "FROM json_each(?) page CROSS JOIN {} t ON t.run_uuid = page.value"
_INFO = (
    "run_uuid", "name", "experiment_id", "user_id", "status", "start_time", "end_time",
    "lifecycle_stage", "artifact_uri",
)  # fmt: skip


class RunPages:
    """Mix-in for MLflow's SQL store on SQLite."""

    def _search_runs(
        self: Any,
        experiment_ids: Any,
        filter_string: str | None,
        run_view_type: Any,
        max_results: int | None,
        order_by: list[str] | None,
        page_token: str | None,
    ) -> tuple[list[Run], str | None]:
        self._validate_max_results_param(max_results, allow_null=True)
        offset = SearchUtils.parse_start_offset_from_page_token(page_token)
        with self.ManagedSessionMaker() as session:
            numbers = self._filter_experiment_ids(session, _parse_experiment_ids(experiment_ids))
            statement = _chosen(session, self._get_dialect(), filter_string, order_by)
            statement = statement.filter(
                SqlRun.experiment_id.in_(numbers),
                SqlRun.lifecycle_stage.in_(LifecycleStage.view_type_to_stages(run_view_type)),
            ).offset(offset)
            if max_results is not None:
                statement = statement.limit(max_results + 1)
            ids = [row[0] for row in session.execute(statement)]
            more = max_results is not None and len(ids) > max_results
            runs = self._page(session, ids[:max_results])
        return runs, SearchUtils.create_page_token(offset + max_results) if more else None

    def _page(self: Any, session: Any, ids: list[str]) -> list[Run]:
        info, data = _infos(session, ids), _data(session, ids)
        inputs = self._get_run_inputs(run_uuids=ids, session=session)
        outputs = self._get_model_outputs_bulk(run_ids=ids, session=session)
        return [
            Run(info[i], data[i], RunInputs(dataset_inputs=dataset), RunOutputs(outputs[i]))
            for i, dataset in zip(ids, inputs, strict=True)
        ]


def _chosen(
    session: Any, dialect: str, filter_string: str | None, order_by: list[str] | None
) -> Any:
    """The statement for the ids that a filter selects, in order."""
    cases, ordering, order_joins = _get_orderby_clauses(order_by, session)
    parsed = SearchUtils.parse_search_filter(filter_string)
    attributes, joins, datasets = _get_sqlalchemy_filter_clauses(parsed, session, dialect)
    statement = select(SqlRun.run_uuid, SqlRun.start_time, *cases)
    for join in joins:
        statement = statement.join(join, join.c.run_uuid == SqlRun.run_uuid)
    for dataset in datasets:
        statement = statement.join(dataset, SqlRun.run_uuid == dataset.c.destination_id)
    for join in order_joins:
        statement = statement.outerjoin(join, join.c.run_uuid == SqlRun.run_uuid)
    return statement.distinct().filter(*attributes).order_by(*ordering)


def _rows(session: Any, table: str, columns: str, ids: list[str]) -> Any:
    query = f"SELECT {columns} {_OF_PAGE.format(table)}"
    # SQLite's own cursor on the session's connection: plain tuples, no row objects.
    return session.connection().connection.cursor().execute(query, (json.dumps(ids),))


def _infos(session: Any, ids: list[str]) -> dict[str, RunInfo]:
    found = {}
    for row in _rows(session, "runs", ", ".join(f"t.{name}" for name in _INFO), ids):
        values = dict(zip(_INFO, row, strict=True))
        values["run_id"], values["run_name"] = values.pop("run_uuid"), values.pop("name")
        values["experiment_id"] = str(values["experiment_id"])
        found[values["run_id"]] = RunInfo(**values)
    return found


def _data(session: Any, ids: list[str]) -> dict[str, RunData]:
    """What MLflow's RunData keeps of params and tags are dicts: made without an object for each."""
    found = {run_id: RunData() for run_id in ids}
    for run_id, key, value in _rows(session, "params", "t.run_uuid, t.key, t.value", ids):
        found[run_id]._params[key] = value
    for run_id, key, value in _rows(session, "tags", "t.run_uuid, t.key, t.value", ids):
        found[run_id]._tags[key] = value
    columns = "t.run_uuid, t.key, t.value, t.timestamp, t.step, t.is_nan"
    for run_id, key, value, time, step, is_nan in _rows(session, "latest_metrics", columns, ids):
        found[run_id]._add_metric(Metric(key, float("nan") if is_nan else value, time, step))
    return found
