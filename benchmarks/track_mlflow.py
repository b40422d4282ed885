"""Calls of the stock MLflow client on its own SQLite store and on ours, in one run.

    python benchmarks/track_mlflow.py [--json FILE]

In process, synchronous. Each store is used in a process of its own, the two in turn, three rounds;
of each round the median call counts, of the rounds the median. Printed: milliseconds of a call
(wall and CPU) and the ratio. Building the entities is part of a call on both sides. Then what a
reader pays afterwards: the run with all that was logged, right after the last call.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 3
CALLS = {1: 40, 100: 12, 1000: 4}


def median_ms(call, calls: int) -> tuple[float, float]:
    """(wall, CPU) of a call in milliseconds, medians; two calls first to warm up."""
    wall, cpu = [], []
    for step in range(calls + 2):
        start, busy = time.perf_counter(), time.process_time()
        call(step)
        cpu.append(time.process_time() - busy)
        wall.append(time.perf_counter() - start)
    return statistics.median(wall[2:]) * 1e3, statistics.median(cpu[2:]) * 1e3


def measure(uri: str) -> dict[str, tuple[float, float]]:
    """Every kind of call on the store at `uri`; a run of its own for each."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag

    client = MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("bench")

    def timed(call, calls: int) -> tuple[float, float]:
        run_id = client.create_run(experiment).info.run_id
        return median_ms(lambda step: call(run_id, step), calls)

    found = {}
    for size, calls in CALLS.items():
        names = [f"group/{n:04d}" for n in range(size)]

        def metrics(run, step, names=names):
            client.log_batch(run, metrics=[Metric(n, 0.5, 1000 + step, step) for n in names])

        def params(run, step, names=names):
            client.log_batch(run, params=[Param(f"{n}.{step}", "value") for n in names])

        def tags(run, step, names=names):
            client.log_batch(run, tags=[RunTag(n, str(step)) for n in names])

        for call in (metrics, params, tags):
            found[f"log_batch, {size} {call.__name__}"] = timed(call, calls)
    found["log_metric"] = timed(lambda run, step: client.log_metric(run, "m", 0.5, step=step), 40)
    found["log_param"] = timed(lambda run, step: client.log_param(run, f"p{step}", "v"), 40)
    found["set_tag"] = timed(lambda run, step: client.set_tag(run, "t", step), 40)
    run_id = client.create_run(experiment).info.run_id

    def read_back(step):
        client.log_metric(run_id, "m", 0.5, step=step)
        assert client.get_run(run_id).data.metrics == {"m": 0.5}

    found["log_metric, then get_run"] = median_ms(read_back, 20)
    return found


def in_fresh_process(side: str) -> dict[str, tuple[float, float]]:
    """Measure one side in a process and a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        uri = f"sqlite:///{folder}/m.db" if side == "sqlite" else f"seamount://{folder}/store"
        variables = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
        answer = subprocess.run([sys.executable, __file__, "--uri", uri], stdout=subprocess.PIPE,
                                text=True, check=True, env=variables)  # fmt: skip
        return json.loads(answer.stdout.splitlines()[-1])


def main() -> None:
    """Both sides in turn, the table, the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--uri")
    options = parser.parse_args()
    if options.uri:
        print(json.dumps(measure(options.uri)))
        return
    rounds = [{side: in_fresh_process(side) for side in ("sqlite", "seamount")}
              for _ in range(ROUNDS)]  # fmt: skip
    results: dict[str, dict[str, float]] = {}
    print(f"{'':<28}{'MLflow SQLite, ms':>20}{'seamount, ms':>18}{'ratio wall':>12}{'CPU':>7}")
    for name in rounds[0]["sqlite"]:
        theirs, ours = (
            [statistics.median(r[side][name][n] for r in rounds) for n in (0, 1)]
            for side in ("sqlite", "seamount")
        )
        ratio = [t / o for t, o in zip(theirs, ours, strict=True)]
        results[name] = {"sqlite_ms": theirs[0], "seamount_ms": ours[0],
                         "ratio_wall": ratio[0], "ratio_cpu": ratio[1]}  # fmt: skip
        print(f"{name:<28}{theirs[0]:>20.2f}{ours[0]:>18.3f}{ratio[0]:>12.1f}{ratio[1]:>7.1f}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if options.json:
        options.json.write_text(json.dumps(results | {"load": os.getloadavg()[0]}, indent=1))


if __name__ == "__main__":
    main()
