"""The dashboard's table on a large store: what its server takes, and what Chromium shows when.

    python benchmarks/track_dashboard.py [--runs 10000] [--params 300] [--metrics 200]
        [--folder DIR] [--json FILE]

The store is made and taken in first (in DIR, and kept there, if given), which is not counted. Then
a fresh server is asked. "Cold" is the first page after its start; each filter is asked three times,
the median counts; "first" is a filter's first time, when its columns are not yet in memory. With
Chromium on the path, the page itself is timed from the address to the first row with its cells.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILTERS = (
    "config.p001 < 0.5 and last(m001) < 0.5",
    "config.p003 > 0.9 or min(m002) < 0.1",
    "state = 'Completed' and config.p007 < 0.25",
)
QUIET = "--no-sandbox --disable-gpu --no-first-run --disable-background-networking"


def make(folder: Path, runs: int, params: int, metrics: int) -> None:
    """Runs of one config and one call of metrics each, taken into the index."""
    from seamount.tracking import Run
    from seamount.tracking.store.folder import open_store

    chance = random.Random(0)
    for number in range(runs):
        own = {"project": f"p{number % 5}", "run_id": f"r{number:06d}"}
        with Run(**own, store=folder, capture=False) as run:
            run.log_configs({f"p{n:03d}": chance.random() for n in range(params)})
            run.log_metrics({f"m{n:03d}": chance.random() for n in range(metrics)}, step=1)
    open_store(folder).refresh()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a fresh server on the store."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--no-mlflow"]
    process = subprocess.Popen(
        [*command, "--store", str(folder), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                urllib.request.urlopen(f"{address}/health", timeout=5).close()
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None
                time.sleep(0.05)
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def asked_s(address: str, **parameters: object) -> float:
    """Seconds until the whole answer is here."""
    query = {k: v if isinstance(v, int) else json.dumps(v) for k, v in parameters.items()}
    begin = time.perf_counter()
    with urllib.request.urlopen(f"{address}/api/v1/runs?{urllib.parse.urlencode(query)}") as answer:
        answer.read()
    return time.perf_counter() - begin


def server(folder: Path, columns: list[str]) -> dict[str, float]:
    """Seconds of the table's answers, as the page asks them."""
    found: dict[str, float] = {}
    with served(folder) as address:
        found["cold page"] = asked_s(address)
        found["page"] = statistics.median(asked_s(address) for _ in range(3))
        wide = {"spec": {"columns": columns}, "fields": columns[:30]}
        found["page of 30 of all columns"] = asked_s(address, **wide)
        for text in FILTERS:
            question = {"spec": {"where": text}, "fields": columns[:10]}
            found[f"first: {text}"] = asked_s(address, **question)
            found[text] = statistics.median(asked_s(address, **question) for _ in range(3))
        by = {"spec": {"sort": "last(m005)"}, "fields": columns[:10]}
        found["first: sorted by a metric"] = asked_s(address, **by)
        found["sorted by a metric"] = statistics.median(asked_s(address, **by) for _ in range(3))
    return found


def page(folder: Path, columns: list[str]) -> dict[str, float]:
    """Seconds in Chromium; nothing where it is not installed."""
    program = shutil.which("chromium")
    if program is None:
        return {}
    from playwright.sync_api import sync_playwright

    from seamount.tracking.dashboard.spec import TableSpec, ViewSpec, to_query

    wide = to_query(ViewSpec(table=TableSpec(columns=tuple(columns))))
    found = {}
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=QUIET.split())
        for name, path in (("cold", "/"), ("warm", "/"), ("all columns", f"/?view={wide}")):
            opened = browser.new_page(viewport={"width": 1440, "height": 900})
            begin = time.perf_counter()
            opened.goto(f"{address}{path}", wait_until="commit")
            opened.locator(".grid .body .row .loose span").first.wait_for()
            found[f"page in Chromium, {name}"] = time.perf_counter() - begin
        browser.close()
    return found


def main() -> None:
    """Make the store where needed, ask, print."""
    parser = argparse.ArgumentParser()
    for name, usual in (("runs", 10_000), ("params", 300), ("metrics", 200)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary) / "store"
        if not folder.exists():
            make(folder, options.runs, options.params, options.metrics)
        columns = [f"config.p{n:03d}" for n in range(options.params)]
        columns += [f"last(m{n:03d})" for n in range(options.metrics)]
        found = server(folder, columns[:500]) | page(folder, columns[:500])
    for name, seconds in found.items():
        print(f"{seconds * 1000:8.0f} ms  {name}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
