"""What the tests of the watcher share: a trainer to watch, and how to see what becomes of it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seamount.tracking.store.folder import Store

ON = {"SEAMOUNT_TRACKING_WATCHER": "on"}

TRAINER = """
import os, sys, time
from seamount.tracking import Run
run = Run(store=sys.argv[1], run_id="watched")
run.log_metrics({"loss": 1.0}, step=0)
print("epoch 1 of 3")
print("loss 1.0", file=sys.stderr)
print("loading the next sh", end="", flush=True)
os.write(1, b"\\nready\\n")
step = 1
while True:
    run.log_metrics({"loss": step}, step=step)
    step += 1
    time.sleep(0.002)
"""


def watchers(store: Store) -> list[int]:
    """Pids of the watchers of this store, by their command lines."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        python = command.startswith(os.fsencode(sys.executable))  # not the shell that starts it
        if python and b"watcher.main" in command and os.fsencode(str(store.folder)) in command:
            found.append(int(folder.name))
    return found


def until(condition: Callable[[], Any], patience_s: float = 30.0) -> Any:
    """The first true answer of `condition`."""
    end = time.monotonic() + patience_s
    while not (answer := condition()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)
    return answer


def run_row(store: Store, run_id: str = "watched") -> dict[str, Any]:
    store.refresh(run_id)
    with store.index() as index:
        return index.run(run_id)


def seen_by_watcher(store: Store) -> bool:
    """The watcher has met the trainer: it writes the first measurements in that moment."""
    return any(store.run_folder("watched").glob("w*.seg"))
