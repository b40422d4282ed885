"""What a million points of one run cost to take in, keep and read back, beside MLflow's store.

    python benchmarks/track_read.py [--json FILE] [--without-mlflow]

100 metrics x 10,000 steps are logged in calls of 100, then read in fresh processes. MLflow's SQLite
store gets fewer points (it takes minutes for a million); its costs are given a point. The floor is
the same three columns in plain .npy files. Best of five where a thing is read more than once.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NAMES = [f"layer/{number:03d}" for number in range(100)]
STEPS, MLFLOW_STEPS = 10_000, 200
POINTS = len(NAMES) * STEPS
BUCKETS = 2000


def best(call, tries: int = 5) -> float:
    """Shortest wall time of `call` in seconds."""
    spent = []
    for _ in range(tries):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def disk_bytes(folder: Path) -> int:
    """Size of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def import_first() -> None:
    """Load the libraries: their import is no cost of a point."""
    from seamount.tracking.points import parts

    assert parts


def write(folder: Path) -> dict[str, float]:
    """Log the points."""
    from seamount.tracking import Run

    chance = random.Random(0)
    noise = [chance.gauss(2.0, 0.5) for _ in range(STEPS + len(NAMES))]  # as hard as losses
    start = time.perf_counter()
    with Run(store=folder / "store", run_id="r") as run:
        for step in range(STEPS):
            run.log_metrics(dict(zip(NAMES, noise[step:], strict=False)), step=step)
    return {"logged_s": time.perf_counter() - start}


def take_in(folder: Path) -> dict[str, float]:
    """The first refresh: summaries, then compaction without a bound on its time."""
    from seamount.tracking.points.compaction import compact_run
    from seamount.tracking.store.folder import open_store
    from seamount.tracking.store.ingest import ingest

    import_first()

    store = open_store(folder / "store")
    with store.index() as index:
        start = time.process_time()
        ingest(store, index)
        taken = time.process_time()
        compact_run(index, "r")
        compacted = time.process_time()
    return {
        "summaries_cpu_us_a_point": (taken - start) / POINTS * 1e6,
        "compaction_cpu_us_a_point": (compacted - taken) / POINTS * 1e6,
        "segment_bytes_a_point": disk_bytes(store.segments) / POINTS,
        "column_bytes_a_point": disk_bytes(store.folder / "points") / POINTS,
        "index_bytes": (store.folder / "index.db").stat().st_size,
    }


def read(folder: Path) -> dict[str, float]:
    """Everything as arrays; one metric; its envelope; the same through SQL; a quiet refresh."""
    import numpy as np

    from seamount.tracking import query
    from seamount.tracking.points import history

    import_first()
    from seamount.tracking.points.buckets import envelope
    from seamount.tracking.store.folder import open_store

    store = open_store(folder / "store")
    with store.index() as index:
        start = time.perf_counter()
        every = history.all_columns(index, "r")
        first = time.perf_counter() - start
        assert sum(map(len, every.values())) == POINTS
        for number, column in enumerate(every.values()):
            np.save(folder / f"{number}.npy", np.stack([column.steps, column.values]))

        def bucketed() -> None:
            column = index.columns("r", NAMES[50])
            column.take(envelope(column.values, 4 * BUCKETS))

        result = {
            "read_all_first_s": first,
            "read_all_s": best(lambda: history.all_columns(index, "r")),
            "read_one_metric_ms": best(lambda: index.columns("r", NAMES[50])) * 1e3,
            "envelope_ms": best(bucketed) * 1e3,
        }
    floor = best(lambda: [np.load(folder / f"{n}.npy") for n in range(len(NAMES))])
    text = "select name, min(value), max(value), avg(value) from metrics group by name"
    return result | {
        "floor_npy_s": floor,
        "sql_group_by_s": best(lambda: query.sql(text, store.folder)),
        "quiet_refresh_ms": best(store.refresh) * 1e3,
    }


def mlflow(folder: Path) -> dict[str, float]:
    """MLflow's client on its own SQLite store: log_batch, then get_metric_history a metric."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    run_id = client.create_run(client.create_experiment("bench")).info.run_id
    empty = disk_bytes(folder)
    points = MLFLOW_STEPS * len(NAMES)
    start = time.perf_counter()
    for step in range(0, MLFLOW_STEPS, 10):
        batch = [Metric(n, s * 0.37, 1000 + s, s) for s in range(step, step + 10) for n in NAMES]
        client.log_batch(run_id, metrics=batch)
    logged = time.perf_counter()
    found = sum(len(client.get_metric_history(run_id, name)) for name in NAMES)
    assert found == points
    return {
        "logged_us_a_point": (logged - start) / points * 1e6,
        "read_us_a_point": (time.perf_counter() - logged) / points * 1e6,
        "bytes_a_point": (disk_bytes(folder) - empty) / points,
    }


PHASES = {phase.__name__: phase for phase in (write, take_in, read, mlflow)}


def in_fresh_process(phase: str, folder: str) -> dict[str, float]:
    """Run one phase in a process of its own."""
    command = [sys.executable, __file__, "--phase", phase, "--folder", folder]
    variables = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
    return json.loads(answer.stdout.splitlines()[-1])


def compare(ours: dict[str, float], theirs: dict[str, float]) -> dict[str, float]:
    """How many times MLflow's costs a point are ours."""
    kept = ours["segment_bytes_a_point"] + ours["column_bytes_a_point"]
    return {
        "logging": theirs["logged_us_a_point"] / (ours["logged_s"] / POINTS * 1e6),
        "reading": theirs["read_us_a_point"] / (ours["read_all_s"] / POINTS * 1e6),
        "disk": theirs["bytes_a_point"] / kept,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--without-mlflow", action="store_true")
    parser.add_argument("--phase", choices=PHASES)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.phase:
        print(json.dumps(PHASES[options.phase](options.folder)))
        return
    results: dict[str, object] = {"points": POINTS, "load_1min": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        for phase in ("write", "take_in", "read"):
            results |= in_fresh_process(phase, folder)
    results["read_all_beside_npy_files"] = results["read_all_s"] / results["floor_npy_s"]
    if not options.without_mlflow:
        with tempfile.TemporaryDirectory() as folder:
            results["mlflow"] = in_fresh_process("mlflow", folder)
        results["mlflow_beside_ours"] = compare(results, results["mlflow"])
    for name, value in results.items():
        pairs = value.items() if isinstance(value, dict) else [("", value)]
        for inner, number in pairs:
            print(f"{f'{name} {inner}'.strip():<40} {number:>14,.3f}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
