"""The same scenarios on MLflow's SQLite store and on ours: what the client is told is the same."""

from __future__ import annotations

import pytest
import scenarios_runs
import scenarios_search
from said import Said

from seamount.tracking.store.folder import open_store

pytestmark = pytest.mark.filterwarnings("ignore")

# What differs on purpose: scenario -> what ours says, and why.
DIFFERENT = {
    # MLflow's table has no infinities: its histories and runs say the largest double. Ours are kept
    # as they were logged; the run's last value still comes from MLflow's table.
    "infinities_stand_in_histories_and_in_the_run": [
        ["inf", [float("inf")]],
        ["minus", [float("-inf")]],
        [{"inf": 1.7976931348623157e308, "minus": -1.7976931348623157e308}],
    ],
    # Of values of one step and time MLflow shows the largest; ours the one that was logged last.
    "the_last_value_of_one_step_and_time": [[{"m": 4.0}]],
    # It would break lines wherever names are listed.
    "a_name_that_ends_in_a_line_break": [
        [
            "refused",
            "INVALID_PARAMETER_VALUE",
            "metric name 'name\\n' holds a control character: remove it",
        ],
    ]
    * 2,
    # A run that ended has an end: without one given, the time of the call.
    "an_end_without_a_time": [[False]],
    # A run that runs again has no end; MLflow keeps the old one.
    "a_run_that_runs_again": [[True]],
}


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """(client of MLflow's own store, client of ours); MLflow's tables are made once for all."""
    from mlflow import MlflowClient

    folder = tmp_path_factory.mktemp("scenarios")
    theirs = f"sqlite:///{folder}/mlflow.db"
    ours = open_store(folder / "store").uri
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.chdir(folder)
        yield [MlflowClient(tracking_uri=uri, registry_uri=uri) for uri in (theirs, ours)]


EVERY = [*scenarios_runs.ALL, *scenarios_search.ALL]


@pytest.mark.parametrize("scenario", EVERY, ids=lambda scenario: scenario.__name__)
def test_clients_are_told_the_same(scenario, clients):
    theirs, ours = [], []
    for client, lines in zip(clients, (theirs, ours), strict=True):
        said = Said(client)
        scenario(said)
        lines += said.lines
    expected = DIFFERENT.get(scenario.__name__)
    if expected is not None:
        assert ours == expected
        assert ours != theirs, "no longer different: take it off the list"
    else:
        assert ours == theirs
