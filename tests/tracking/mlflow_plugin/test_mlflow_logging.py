"""Log calls ask no database: still MLflow's errors, and still right beside other processes."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from seamount.tracking import Run, query
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.verify import verify
from seamount.tracking.upkeep.deletion import set_deleted

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    return open_store(tmp_path_factory.mktemp("logging") / "store").uri


def plugin_of(uri):
    from seamount.tracking.mlflow_plugin.store import SeamountTrackingStore

    return SeamountTrackingStore(uri)


@pytest.fixture(scope="module")
def plugin(uri):
    return plugin_of(uri)


@pytest.fixture(scope="module")
def other(uri, plugin):
    """Another server's view of the store: nothing is shared but the folder."""
    return plugin_of(uri)


@pytest.fixture
def run_id(plugin):
    return plugin.create_run("0", "me", 1, [], "a run").info.run_id


def test_a_batch_asks_no_database(plugin, run_id, monkeypatch):
    import sqlite3

    from mlflow.entities import Metric, Param, RunTag

    def log(n):
        plugin.log_batch(
            run_id,
            [Metric("m", n, n, n)],
            [Param(f"p{n}", "v")],
            [RunTag("t", str(n))],
        )

    log(0)

    def refuse(*_, **__):
        raise AssertionError("a log call opened a database")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", refuse)
        patch.setattr(plugin, "ManagedSessionMaker", refuse)
        log(1)
    data = plugin.get_run(run_id).data
    assert (data.params, data.metrics) == ({"p0": "v", "p1": "v"}, {"m": 1.0})
    assert data.tags["t"] == "1"


def test_a_run_deleted_by_another_takes_nothing_more(plugin, other, run_id):
    from mlflow.entities import Metric, Param, RunTag
    from mlflow.exceptions import MlflowException

    plugin.log_metric(run_id, Metric("m", 1.0, 1, 0))
    other.delete_run(run_id)
    calls = [
        lambda: plugin.log_metric(run_id, Metric("m", 2.0, 1, 1)),
        lambda: plugin.log_param(run_id, Param("p", "v")),
        lambda: plugin.set_tag(run_id, RunTag("t", "v")),
        lambda: plugin.delete_tag(run_id, "t"),
        lambda: plugin.log_batch(run_id, [Metric("m", 2.0, 1, 1)], [], []),
        lambda: plugin.update_run_info(run_id, None, 5, None),
    ]
    for call in calls:
        with pytest.raises(MlflowException, match="must be in the 'active' state"):
            call()
    other.restore_run(run_id)
    plugin.log_metric(run_id, Metric("m", 3.0, 1, 2))
    assert [m.value for m in other.get_metric_history(run_id, "m")] == [1.0, 3.0]


def test_a_deletion_by_the_command_line_is_seen_by_both(plugin, uri, run_id):
    from mlflow.entities import Metric
    from mlflow.exceptions import MlflowException

    plugin.log_metric(run_id, Metric("m", 1.0, 1, 0))
    set_deleted(open_store(uri), run_id, True)
    with pytest.raises(MlflowException, match="Current state is deleted"):
        plugin.log_metric(run_id, Metric("m", 1.0, 1, 1))
    assert plugin.get_run(run_id).info.lifecycle_stage == "deleted"
    assert run_id in plugin._get_deleted_runs()
    set_deleted(open_store(uri), run_id, False)
    assert plugin.get_run(run_id).info.lifecycle_stage == "active"
    plugin.log_metric(run_id, Metric("m", 1.0, 1, 1))


def test_the_last_word_on_a_deletion_outlives_the_index(plugin, uri, run_id):
    store = open_store(uri)
    for deleted in (True, False, True, False, True):
        set_deleted(store, run_id, deleted)
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(r for r in query.runs(store=uri) if r["run_id"] == run_id)
        (store.folder / "index.db").unlink()


def test_one_param_cannot_get_two_values_from_two_servers(plugin, other, run_id):
    from mlflow.entities import Param
    from mlflow.exceptions import MlflowException

    plugin.log_param(run_id, Param("a", "1"))
    other.log_param(run_id, Param("a", "1"))
    with pytest.raises(MlflowException, match="already logged with value='1'"):
        other.log_param(run_id, Param("a", "2"))
    other.log_batch(run_id, [], [Param("b", "1"), Param("a", "1")], [])
    with pytest.raises(MlflowException, match=r"'key': 'b', 'old_value': '1', 'new_value': '2'"):
        plugin.log_batch(run_id, [], [Param("c", "1"), Param("b", "2")], [])
    assert plugin.get_run(run_id).data.params == {"a": "1", "b": "1"}


def test_racing_params_agree(plugin, other, run_id):
    from mlflow.entities import Param
    from mlflow.exceptions import MlflowException

    won = {}

    def work(store, word):
        for number in range(30):
            try:
                store.log_param(run_id, Param(f"p{number}", word))
            except MlflowException:
                continue
            assert won.setdefault(number, word) == word

    threads = [
        threading.Thread(target=work, args=(store, f"{place}{n}"))
        for place, store in enumerate((plugin, other))
        for n in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert plugin.get_run(run_id).data.params == {f"p{n}": word for n, word in won.items()}
    assert len(won) == 30


def test_params_of_a_trainer_of_ours_are_known(plugin, uri):
    from mlflow.entities import Param
    from mlflow.exceptions import MlflowException

    with Run(project="ours", store=uri) as run:
        plugin.log_param(run.run_id, Param("first", "1"))
        run.log_configs({"lr": 0.1})
        with pytest.raises(MlflowException, match=r"value='0\.1'"):
            plugin.log_param(run.run_id, Param("lr", "0.2"))


def test_a_run_in_mlflows_tables_alone_is_taken_over(plugin, uri):
    """Its maker was killed between MLflow's transaction and our folder."""
    from mlflow.entities import Metric, RunTag
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    run = SqlAlchemyStore.create_run(plugin, "0", "me", 1, [RunTag("k", "v")], "orphan")
    plugin.log_metric(run.info.run_id, Metric("m", 1.0, 1, 0))
    found = query.run(uri, run.info.run_id)
    assert (found["name"], found["state"], found["tags"]["k"]) == ("orphan", "Running", "v")
    assert plugin.get_run(run.info.run_id).data.metrics == {"m": 1.0}


def test_a_new_name_stays(plugin, run_id):
    from mlflow.entities import RunTag

    plugin.update_run_info(run_id, None, None, "second")
    plugin.set_tag(run_id, RunTag("k", "v"))
    for name in ("second", "third"):
        run = plugin.get_run(run_id)
        assert (run.info.run_name, run.data.tags["mlflow.runName"]) == (name, name)
        plugin.log_batch(run_id, [], [], [RunTag("mlflow.runName", "third")])


def test_a_run_of_ours_carries_mlflows_tags_for_name_and_user(plugin, uri):
    with Run(project="ours", name="by us", store=uri) as run:
        pass
    with Run(run_id=run.run_id, name="renamed", store=uri):
        pass
    found = plugin.get_run(run.run_id)
    assert found.data.tags["mlflow.runName"] == found.info.run_name == "renamed"
    assert found.data.tags["mlflow.user"] == found.info.user_id


def test_an_experiment_deleted_takes_its_runs_along(plugin, other, uri):
    from mlflow.entities import Metric
    from mlflow.exceptions import MlflowException

    experiment = plugin.create_experiment("doomed")
    run_id = plugin.create_run(experiment, "me", 1, [], "r").info.run_id
    plugin.log_metric(run_id, Metric("m", 1.0, 1, 0))
    other.delete_experiment(experiment)
    assert run_id not in [r["run_id"] for r in query.runs(store=uri)]
    with pytest.raises(MlflowException, match="deleted"):
        plugin.log_metric(run_id, Metric("m", 1.0, 1, 1))
    plugin.restore_experiment(experiment)
    assert run_id in [r["run_id"] for r in query.runs(store=uri)]
    plugin.log_metric(run_id, Metric("m", 1.0, 1, 1))


def test_more_runs_at_once_than_files_are_kept_open(uri, monkeypatch):
    from mlflow.entities import Metric

    from seamount.tracking.mlflow_plugin import clients

    monkeypatch.setattr(clients, "MAX_OPEN", 3)
    plugin = plugin_of(uri)
    runs = [plugin.create_run("0", "me", 1, [], f"many{n}").info.run_id for n in range(8)]

    def work(offset):
        for step in range(6):
            for place in range(8):
                run = runs[(place + offset) % 8]
                plugin.log_metric(run, Metric(f"m{offset}", 1.0, step, step))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for run in runs:
        assert verify(open_store(uri), run)["ok"]
        for name in range(4):
            assert len(plugin.get_metric_history(run, f"m{name}")) == 6


_CLIENT = """
import sys
from mlflow.entities import Metric, Param
from seamount.tracking.mlflow_plugin.store import SeamountTrackingStore
store, run_id, name = SeamountTrackingStore(sys.argv[1]), sys.argv[2], sys.argv[3]
for step in range(200):
    store.log_batch(run_id, [Metric(name, step, step, step)], [Param(f"{name}{step}", "v")], [])
"""


def test_several_processes_log_one_run(plugin, uri, run_id):
    command = [sys.executable, "-c", _CLIENT, uri, run_id]
    clients = [subprocess.Popen([*command, name]) for name in ("x", "y")]
    assert [client.wait() for client in clients] == [0, 0]
    assert len(plugin.get_run(run_id).data.params) == 400
    for name in ("x", "y"):
        assert [m.step for m in plugin.get_metric_history(run_id, name)] == list(range(200))


def test_mlflow_gc_removes_both_sides(plugin, uri, monkeypatch):
    from click.testing import CliRunner
    from mlflow.cli import gc
    from mlflow.exceptions import MlflowException

    with Run(project="to collect", store=uri) as run:
        run.assign_files({"a.bin": b"only here"})
    plugin.delete_run(run.run_id)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    done = CliRunner().invoke(gc, ["--backend-store-uri", uri, "--older-than", "1h"])
    assert done.exit_code == 0, done.output
    assert plugin.get_run(run.run_id).info.lifecycle_stage == "deleted"
    done = CliRunner().invoke(gc, ["--backend-store-uri", uri, "--run-ids", run.run_id])
    assert done.exit_code == 0, done.output
    with pytest.raises(MlflowException, match="not found"):
        plugin.get_run(run.run_id)
    folder = open_store(uri).folder
    assert not [p for p in folder.rglob("*") if run.run_id in str(p)]
    with Run(project="to collect", store=uri) as live:
        plugin.delete_run(live.run_id)
        with pytest.raises(MlflowException, match="still being logged"):
            plugin._hard_delete_run(live.run_id)
