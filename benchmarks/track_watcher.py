"""What the watcher costs: the trainer's calls with and without it, and its own CPU and memory.

    python benchmarks/track_watcher.py [--json FILE] [--seconds 10] [--rounds 3]

The trainer logs 10 metrics a call, about a thousand calls a second. Rounds with and without the
watcher alternate; of each figure the median round is shown. A pass of the watcher is every 0.2 s.
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
from statistics import median

DATA = {f"metric/{number}": 0.5 for number in range(10)}


def watcher_of(folder: str) -> int | None:
    """Pid of the watcher of the store in `folder`."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"watcher.main" in command and folder.encode() in command:
            return int(entry.name)
    return None


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(pid: int) -> float:
    """Resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def trainer(folder: str, seconds: float, watched: bool) -> dict[str, float]:
    """One round in this process."""
    from seamount.tracking import Run
    from seamount.tracking.capture.surroundings import Capture

    start = time.perf_counter()
    run = Run(store=folder, capture=Capture(watcher=watched, console=False))
    result = {"open_ms": 1e3 * (time.perf_counter() - start)}
    time.sleep(2)  # its start is over
    pid = watcher_of(folder) if watched else None
    before = cpu_s(pid) if pid else 0.0
    spent, end, step = [], time.monotonic() + seconds, 0
    while time.monotonic() < end:
        began = time.perf_counter_ns()
        run.log_metrics(DATA, step=step)
        spent.append(time.perf_counter_ns() - began)
        step += 1
        time.sleep(0.001)
    if pid:
        result["watcher_cpu_ms_a_second"] = 1e3 * (cpu_s(pid) - before) / seconds
        result["watcher_start_cpu_ms"] = 1e3 * before
        result["watcher_memory_mb"] = rss_mb(pid)
    spent.sort()
    for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        result[f"{name}_us"] = spent[int(len(spent) * share)] / 1e3
    result["max_us"] = spent[-1] / 1e3
    run.close()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--round")
    options = parser.parse_args()
    if options.round:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            print(json.dumps(trainer(folder, options.seconds, options.round == "on")))
            end = time.monotonic() + 30
            while watcher_of(folder) and time.monotonic() < end:
                time.sleep(0.1)
        return
    rounds: dict[str, list[dict[str, float]]] = {"off": [], "on": []}
    for _ in range(options.rounds):
        for kind, found in rounds.items():
            command = [sys.executable, __file__, "--round", kind, "--seconds", str(options.seconds)]
            answer = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(json.loads(answer.stdout.splitlines()[-1]))
    results = {
        kind: {name: median(one[name] for one in found) for name in found[0]}
        for kind, found in rounds.items()
    }
    for kind, result in results.items():
        print(f"watcher {kind}")
        for name, value in result.items():
            print(f"  {name:<26} {value:10.2f}")
    print(f"load {os.getloadavg()[0]:.1f}")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
