"""A filtered, sorted page of runs, by our query and through the stock MLflow client, in one run.

    python benchmarks/track_query.py [--runs 10000] [--params 200] [--metrics 50] [--page 1000]
        [--folder DIR] [--without-mlflow] [--json FILE]

The store is made first (in DIR, and kept there, if given). Each question is asked three times in a
fresh process after one that warms up; the median counts. The MLflow client asks the same store
through the plugin, in process. Reported beside them: reading every run's config alone, as a floor.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WHERE = "config.p001 < 0.5 and last(m01) < 0.8 and state = 'Completed'"
SORT = "min(m02)"
MLFLOW_WHERE = "metrics.m01 < 0.8 and params.optimizer = 'adam' and attributes.status = 'FINISHED'"
OUR_TWIN = "last(m01) < 0.8 and config.optimizer = 'adam' and state = 'Completed'"


def make(folder: Path, runs: int, params: int, metrics: int) -> None:
    """Runs as a person would log them: one config, one call of metrics."""
    from seamount.tracking import Run

    chance = random.Random(0)
    for number in range(runs):
        with Run(project=f"p{number % 10}", run_id=f"r{number:06d}", store=folder) as run:
            configs = {f"p{n:03d}": chance.random() for n in range(params - 1)}
            run.log_configs(configs | {"optimizer": chance.choice(["adam", "sgd"])})
            run.log_metrics({f"m{n:02d}": chance.random() for n in range(metrics)}, step=1)


def median_s(ask) -> tuple[float, float, object]:
    """(median seconds of three, median CPU seconds, answer)."""
    answer, spent, cpu = ask(), [], []
    for _ in range(3):
        start, busy = time.perf_counter(), time.process_time()
        answer = ask()
        cpu.append(time.process_time() - busy)
        spent.append(time.perf_counter() - start)
    return statistics.median(spent), statistics.median(cpu), answer


def ours(folder: Path, page: int) -> dict[str, object]:
    """Our query: the page as run objects, as a wide table, and by a pattern over all metadata."""
    from seamount.tracking import query
    from seamount.tracking.query.attributes import each_config
    from seamount.tracking.store.folder import open_store

    def floor() -> int:
        with open_store(folder).index() as index:
            ids = [row["run_id"] for row in index.runs()]
            return sum(len(values) for _, values in each_config(index, ids))

    questions = {
        "floor: parse every config": floor,
        "page": lambda: query.runs(WHERE, store=folder, sort=SORT, limit=page).total,
        "page, as the MLflow client asks": lambda: query.runs(
            OUR_TWIN, store=folder, sort="last(m02)", limit=page
        ).total,
        "page with all params and metrics, as Arrow": lambda: query.runs(
            WHERE, store=folder, sort=SORT, limit=page,
            columns=["run_id", "config.*", "last(*)"],
        ).to_arrow().shape,
        "regex over all metadata": lambda: query.runs(
            search="(p7 | adam) & !?config.optimizer:sgd", store=folder, limit=page
        ).total,
    }  # fmt: skip
    return {name: median_s(ask) for name, ask in questions.items()}


def mlflow(folder: Path, page: int) -> dict[str, object]:
    """MLflow's client on the same store."""
    from mlflow import MlflowClient

    client = MlflowClient(f"seamount://{folder}")
    start, busy = time.perf_counter(), time.process_time()
    ids = [e.experiment_id for e in client.search_experiments()]
    first = time.perf_counter() - start, time.process_time() - busy

    def ask() -> int:
        found = client.search_runs(ids, MLFLOW_WHERE, max_results=page, order_by=["metrics.m02"])
        return len(found), len(found[0].data.params), len(found[0].data.metrics)

    found = {"first look (copies into MLflow's tables)": (*first, len(ids)), "page": median_s(ask)}
    from seamount.tracking.mlflow_plugin.search import RunPages

    del RunPages._search_runs  # what the client then gets is MLflow's own way to read a page
    return found | {"page, read by MLflow's ORM": median_s(ask)}


def main() -> None:
    """Make the store, ask each side in its own process, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("runs", 10_000), ("params", 200), ("metrics", 50), ("page", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--without-mlflow", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--ask", choices=["make", "ours", "mlflow"])
    options = parser.parse_args()
    if options.ask:
        size = (options.runs, options.params, options.metrics)
        asked = {"ours": ours, "mlflow": mlflow}
        if options.ask == "make":
            make(options.folder, *size)
        else:
            print(json.dumps(asked[options.ask](options.folder, options.page)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "store"
        results = measure(folder, options)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """Every phase in a fresh process."""
    size = [f"--{n}={getattr(options, n)}" for n in ("runs", "params", "metrics", "page")]
    command = [sys.executable, __file__, *size, "--folder", str(folder), "--ask"]
    if not folder.exists():
        start = time.perf_counter()
        subprocess.run([*command, "make"], check=True)
        print(f"store made in {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        index = "from seamount.tracking.store.folder import open_store as o; import sys; "
        subprocess.run([sys.executable, "-c", index + "o(sys.argv[1]).refresh()", folder],
                       check=True)  # fmt: skip
        print(f"taken into the index in {time.perf_counter() - start:.0f} s")
    results = {}
    for side in ("ours",) if options.without_mlflow else ("ours", "mlflow"):
        done = subprocess.run([*command, side], check=True, stdout=subprocess.PIPE, text=True)
        results[side] = json.loads(done.stdout.splitlines()[-1])
        for name, (spent, cpu, answer) in results[side].items():
            print(f"{side:<8}{name:<44}{spent:8.3f} s  CPU {cpu:8.3f} s   {answer}")
    return results


if __name__ == "__main__":
    main()
