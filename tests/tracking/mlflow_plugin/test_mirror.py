"""MLflow's tables after passes that were cut off equal those made at one go."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from contextlib import closing

import pytest

from seamount.tracking import Run
from seamount.tracking.store.folder import open_store

pytestmark = pytest.mark.filterwarnings("ignore")

TABLES = ("runs", "params", "tags", "latest_metrics")


def tables(folder):
    """Every row of the mirrored tables, sorted; experiments by name and without paths."""
    with closing(sqlite3.connect(folder / "mlflow.db")) as db:
        found = {}
        for table in TABLES:
            cursor = db.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            keep = [n for n, name in enumerate(names) if name != "artifact_uri"]
            found[table] = sorted(repr([row[n] for n in keep]) for row in cursor)
        return found


class Cut(Exception):
    """Stands for the death of the process."""


def cut_off_after(monkeypatch, mirror, chunks):
    """The next passes write so many transactions, then die."""
    write, left = mirror._write, itertools.count(chunks, -1)

    def counted(*arguments):
        if next(left) <= 0:
            raise Cut
        write(*arguments)

    monkeypatch.setattr(mirror, "_write", counted)


def test_a_pass_goes_on_where_another_died(tmp_path, monkeypatch):
    from seamount.tracking.mlflow_plugin import mirror
    from seamount.tracking.mlflow_plugin.store import SeamountTrackingStore

    store = open_store(tmp_path / "store")
    plugin = SeamountTrackingStore(store.uri)
    monkeypatch.setattr(mirror, "RUNS_A_TRANSACTION", 2)
    plugin.sync()
    for run in range(5):
        with Run(project="p", run_id=f"r{run}", store=store.uri, tags=["t"]) as logged:
            logged.log_configs({"lr": run})
            logged.log_metrics({"early": run}, step=0)
    plugin.sync()
    for dying in (1, 0, 1, 2):
        for run in (4, 1, 3, 0, 2):  # a metric of its own each time: what is missed stays missed
            with Run(run_id=f"r{run}", store=store.uri) as logged:
                logged.log_metrics({f"m{dying}/{run}": 1.0}, step=0)
                logged.log_configs({"lr": dying})
        with monkeypatch.context() as patch:
            cut_off_after(patch, mirror, dying)
            with pytest.raises(Cut):
                plugin.sync()
        with Run(run_id="r2", store=store.uri) as logged:
            logged.log_metrics({f"late{dying}": 2.0}, step=0)
            logged.remove_tags(["t"])
    plugin.sync()
    fresh = tmp_path / "fresh"
    shutil.copytree(store.folder, fresh)
    (fresh / "mlflow.db").unlink()
    SeamountTrackingStore(f"seamount://{fresh}").sync()
    assert tables(store.folder) == tables(fresh)
    assert sum("m1/" in row for row in tables(fresh)["latest_metrics"]) == 5
