"""Pages of runs read without MLflow's ORM equal those that its own store reads."""

from __future__ import annotations

import math

import pytest

from seamount.tracking import Run
from seamount.tracking.store.folder import open_store

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def plugin(tmp_path_factory):
    from mlflow.entities import Dataset, DatasetInput, InputTag

    from seamount.tracking.mlflow_plugin.store import SeamountTrackingStore

    store = open_store(tmp_path_factory.mktemp("pages") / "store")
    for number in range(7):
        project = "a" if number < 5 else "b"
        with Run(project=project, run_id=f"r{number}", store=store.uri, tags=["t"]) as run:
            run.log_configs({"lr": number / 10, "opt": "adam" if number % 2 else "SGD"})
            if number != 3:
                run.log_metrics({"loss": math.nan if number == 2 else 5.0 - number}, step=number)
            run.log_metrics({"inf": math.inf}, step=2.5)
    plugin = SeamountTrackingStore(store.uri)
    plugin.search_experiments()
    data = Dataset("train", "d1", "local", "x")
    for run_id, context in (("r1", "train"), ("r4", "eval")):
        plugin.log_inputs(run_id, [DatasetInput(data, [InputTag("mlflow.data.context", context)])])
    plugin.delete_run("r5")
    return plugin


def plain(pages):
    """Runs as comparable values (lists as sets: their order within a run is nobody's promise)."""
    runs, token = pages
    return token, [
        (
            dict(run.info),
            {k: repr(v) for k, v in run.data.metrics.items()},
            sorted((m.key, m.timestamp, m.step) for m in run.data._metric_objs),
            run.data.params,
            run.data.tags,
            [
                (i.dataset.name, [(t.key, t.value) for t in i.tags])
                for i in run.inputs.dataset_inputs
            ],
            run.outputs.to_dictionary(),
        )
        for run in runs
    ]


@pytest.mark.parametrize(
    ("filter_string", "order_by"),
    [
        (None, None),
        ("", []),
        ("metrics.loss < 4.5 and params.opt = 'adam'", ["metrics.loss DESC"]),
        ("metrics.loss != 4", ["metrics.loss"]),  # a NaN differs, and sorts behind
        ("params.opt ILIKE 'sgd'", ["params.lr DESC", "start_time"]),
        ("params.opt LIKE 'sgd'", None),
        ("tags.t = 'true' and attributes.status = 'FINISHED'", ["attributes.start_time DESC"]),
        ("params.lr = '0.1' and params.opt = 'adam'", ["tags.`mlflow.runName`"]),
        ("params.none IS NULL", ["metrics.none"]),
        ("run_id IN ('r1', 'r6')", ["attribute.end_time"]),
        ("datasets.name = 'train'", None),
        ("dataset.context = 'eval' and metrics.loss > 0", None),
        ("attributes.run_name != 'r0'", None),
    ],
)
def test_pages_equal_mlflows_own(plugin, filter_string, order_by):
    from mlflow.entities import ViewType
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    experiments = [e.experiment_id for e in plugin.search_experiments()]
    for view in (ViewType.ACTIVE_ONLY, ViewType.ALL, ViewType.DELETED_ONLY):
        token = None
        for _ in range(8):
            asked = (experiments, filter_string, view, 2, order_by, token)
            theirs = SqlAlchemyStore._search_runs(plugin, *asked)
            assert plain(plugin._search_runs(*asked)) == plain(theirs)
            token = theirs[1]
            if token is None:
                break
        assert token is None
