"""What a log call costs, beside a bare write(2) and MLflow's own SQLite store, in one run.

    python benchmarks/track_latency.py [--json FILE] [--without-mlflow]

Each tool logs in its own fresh process. Reported: medians and 99th percentiles in microseconds, the
ratio to the bare write of as many bytes, and how many points a second are taken into the index.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ONE = ["loss"]
HUNDRED = [f"layer/{number:03d}" for number in range(100)]
CALLS = {1: 20_000, 100: 3_000}
MLFLOW_CALLS = {1: 100, 100: 10}


def quantiles(spent_ns: list[int]) -> dict[str, float]:
    """Median and 99th percentile in microseconds."""
    ordered = sorted(spent_ns)
    return {
        "p50_us": ordered[len(ordered) // 2] / 1e3,
        "p99_us": ordered[int(len(ordered) * 0.99)] / 1e3,
    }


def timed(call, calls: int) -> dict[str, float]:
    """Cost of `call(step)`, a tenth more first to warm up."""
    spent = []
    for step in range(calls + calls // 10):
        start = time.perf_counter_ns()
        call(step)
        spent.append(time.perf_counter_ns() - start)
    return quantiles(spent[calls // 10 :])


def bare(folder: Path) -> dict[str, object]:
    """One write(2) of a packed record a call: the floor."""
    fd = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    result = {}
    for names in (ONE, HUNDRED):
        content = b"x" * (44 + 8 * len(names))
        result[str(len(names))] = timed(lambda _, c=content: os.write(fd, c), CALLS[len(names)])
    return result


def seamount(folder: Path) -> dict[str, object]:
    """Our logger, then its points taken into the index."""
    start = time.perf_counter()
    from seamount.tracking import Run

    run = Run(store=f"seamount://{folder}/store")
    result: dict[str, object] = {"import_and_open_s": time.perf_counter() - start}
    for names in (ONE, HUNDRED):
        data = {name: 0.5 * place for place, name in enumerate(names)}
        result[str(len(names))] = timed(
            lambda step, d=data: run.log_metrics(d, step=step), CALLS[len(names)]
        )
    data = dict.fromkeys(HUNDRED, 1.0)
    start = time.perf_counter()
    for step in range(3000):
        run.log_metrics(data, step=10_000 + step)
    run.close()
    result["points_a_second_until_on_disk"] = 300_000 / (time.perf_counter() - start)
    from seamount.tracking.store.folder import open_store

    start = time.perf_counter()
    store = open_store(folder / "store")
    store.refresh()
    with store.index() as index:
        points = sum(summary.points for summary in index.summaries(run.run_id))
        result["points_a_second_into_the_index"] = points / (time.perf_counter() - start)
    return result


def mlflow(folder: Path) -> dict[str, object]:
    """MLflow's client on its own SQLite store, synchronous as by default."""
    start = time.perf_counter()
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{folder}/mlflow.db")
    return _client(client, start)


def plugin(folder: Path) -> dict[str, object]:
    """The same client on our store."""
    start = time.perf_counter()
    from mlflow import MlflowClient

    return _client(MlflowClient(tracking_uri=f"seamount://{folder}/store"), start)


def _client(client, start: float) -> dict[str, object]:
    from mlflow.entities import Metric

    run_id = client.create_run(client.create_experiment("bench")).info.run_id
    result: dict[str, object] = {"import_and_open_s": time.perf_counter() - start}
    for names in (ONE, HUNDRED):

        def call(step: int, names=names) -> None:
            metrics = [Metric(name, 0.5, 1_000 + step, step) for name in names]
            client.log_batch(run_id, metrics=metrics)

        result[str(len(names))] = timed(call, MLFLOW_CALLS[len(names)])
    return result


TOOLS = {tool.__name__: tool for tool in (bare, seamount, mlflow, plugin)}


def in_fresh_process(tool: str) -> dict[str, object]:
    """Run one tool in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--tool", tool, "--folder", folder]
        variables = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
        answer = subprocess.run(command, capture_output=True, text=True, check=True, env=variables)
        return json.loads(answer.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--without-mlflow", action="store_true")
    parser.add_argument("--tool", choices=TOOLS)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.tool:
        print(json.dumps(TOOLS[options.tool](options.folder)))
        return
    tools = ["bare", "seamount"] if options.without_mlflow else list(TOOLS)
    results = {tool: in_fresh_process(tool) for tool in tools}
    for count in ("1", "100"):
        floor = results["bare"][count]["p50_us"]
        for tool, result in results.items():
            cost = result[count]
            print(
                f"{count:>3} metrics  {tool:<9} p50 {cost['p50_us']:>10.1f} us  "
                f"p99 {cost['p99_us']:>10.1f} us  {cost['p50_us'] / floor:>9.1f}x a bare write"
            )
    for name in ("points_a_second_until_on_disk", "points_a_second_into_the_index"):
        print(f"seamount {name}: {results['seamount'][name]:,.0f}")
    results["load_1min"] = os.getloadavg()[0]
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
