"""Our logger beside neptune-scale, MLflow, W&B, trackio and TensorBoard, offline, in one run.

    python benchmarks/track_peers.py [--tools seamount,wandb] [--json FILE]

Each peer lives in an environment of its own below .bench/, made at first use; one that cannot be
installed is named and left out. Each phase runs in a fresh process: calls of 1 and of 100 metrics,
points a second in calls of 100 until the run is closed (one process; 8 processes of one run), a
kill -9 of the caller right after call 500 and what is then readable, and 1 M points read back
(fewer where a tool does not write them in six seconds; the time is then given for what it wrote).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from peers import python_of

TRACKERS = Path(__file__).parent / "peers" / "trackers.py"
ROOT = Path(__file__).resolve().parents[1]
PEERS = {
    "trackio": ("trackio==0.43.0",),
    "tensorboard": ("tensorboard==2.21.0",),
    "wandb": ("wandb==0.31.0",),
    "neptune-scale": ("neptune-scale==0.30.0",),
}
TOOLS = ["bare", "seamount", *PEERS, "mlflow", "mlflow-seamount"]
ONE_PROCESS_A_RUN = ("wandb",)  # offline
MILLION = 1_000_000
BUCKETS = 2000


def python_for(tool: str) -> str:
    """The interpreter that has the tool."""
    if tool not in PEERS:
        return sys.executable
    return python_of(f"tracker-{tool}", PEERS[tool])


def start(tool: str, phase: str, folder: str, *more: str) -> subprocess.Popen[str]:
    """A process of one tool in one phase."""
    variables = os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}
    if tool not in PEERS:
        variables["PYTHONPATH"] = str(ROOT)
    return subprocess.Popen(
        [python_for(tool), str(TRACKERS), tool, phase, folder, *more],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables, cwd=folder,
        start_new_session=True,
    )  # fmt: skip


def answer(process: subprocess.Popen[str], tool: str, phase: str) -> dict[str, Any]:
    """What the process said last; its helpers are ended with it."""
    output, _ = process.communicate(timeout=300)
    if process.returncode:
        raise RuntimeError(f"{tool} failed in phase {phase}")
    return json.loads(output.strip().splitlines()[-1])


def ask(tool: str, phase: str, folder: str | None = None, *more: str) -> dict[str, Any]:
    """One phase in a fresh process, in a fresh folder unless one is given."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        return answer(start(tool, phase, folder or temporary, *more), tool, phase)


def kill_drill(tool: str) -> int | None:
    """Points readable after the caller of 500 calls was killed with -9."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = start(tool, "killed", folder)
        until = time.monotonic() + 120
        while not Path(folder, "logged").exists() and time.monotonic() < until:
            time.sleep(0.0005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(1.0)  # helpers of the tool that outlive their caller may end their work
        try:
            return ask(tool, "read", folder)["points"]
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def eight(tool: str) -> float:
    """Points a second of 8 processes that log one run, from the first call to the last close."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        processes = [start(tool, "eight", folder, str(rank)) for rank in range(8)]
        answers = [answer(p, tool, "eight") for p in processes]
    seconds = max(a["end"] for a in answers) - min(a["start"] for a in answers)
    return sum(a["points"] for a in answers) / seconds


def read_drill(tool: str) -> dict[str, Any]:
    """1 M points of one run written, then read in a fresh process; ours also as an envelope."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        written = ask(tool, "write", folder)["points"]
        found = ask(tool, "read", folder) | {"written": written}
        if tool == "seamount":
            found["envelope_ms"] = envelope_ms(folder)
        return found


def envelope_ms(folder: str) -> float:
    """A 2,000-bucket envelope of 10,000 points of one metric, the median of five."""
    from seamount.tracking.points.buckets import envelope
    from seamount.tracking.store.folder import open_store

    spent = []
    for _ in range(5):
        begin = time.perf_counter()
        with open_store(f"{folder}/store").index() as index:
            values = index.columns("r", "layer/000").values
            envelope(values, BUCKETS)
        spent.append(time.perf_counter() - begin)
    return sorted(spent)[2] * 1e3


def measure(tool: str) -> dict[str, Any]:
    """All phases of one tool."""
    found: dict[str, Any] = {"one": ask(tool, "one"), "hundred": ask(tool, "hundred")}
    durable = ask(tool, "durable")
    found["durable"] = durable["points"] / (durable["end"] - durable["start"])
    found["eight"] = None if tool in ONE_PROCESS_A_RUN else eight(tool)
    if tool != "bare":
        found["killed"] = kill_drill(tool)
        found["read"] = read_drill(tool)
    found["load"] = os.getloadavg()[0]
    return found


def row(tool: str, found: dict[str, Any]) -> str:
    """A line of the table."""
    calls = "".join(
        f"| {found[n]['p50_us']:,.1f} / {found[n]['p99_us']:,.0f} " for n in ("one", "hundred")
    )
    many = f"{found['eight']:,.0f}" if found["eight"] else "one process a run"
    read = "|  |  |"
    if "read" in found:
        was = found["read"]
        share = "" if was["written"] >= MILLION else f" of {was['written']:,}"
        read = f"| {found['killed']} | {was['first_s']:.2f}, {was['best_s']:.2f} s{share} |"
        if was["points"] != was["written"]:
            read = read[:-1] + f"({was['points']:,} read) |"
    return f"| {tool} {calls}| {found['durable']:,.0f} | {many} {read} {found['load']:.1f} |"


def main() -> None:
    """The table, a tool a line as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    heads = ["tool", "1 metric, us p50 / p99", "100 metrics, us", "points/s, 1 process",
             "points/s, 8 processes", "read after kill -9", "1 M points back, first, again",
             "load"]  # fmt: skip
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    results = {}
    for tool in options.tools.split(","):
        try:
            results[tool] = measure(tool)
            print(row(tool, results[tool]), flush=True)
        except (subprocess.SubprocessError, RuntimeError) as error:
            print(f"| {tool} | left out: {error} |", flush=True)
    if "envelope_ms" in results.get("seamount", {}).get("read", {}):
        ours = results["seamount"]["read"]
        print(f"seamount: {BUCKETS}-bucket envelope of a metric {ours['envelope_ms']:.1f} ms")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
