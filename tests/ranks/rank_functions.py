"""What the ranks of test_launch.py run; light, so that a start costs little."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from seamount.core import settings
from seamount.core.errors import Preempted, UserError


def tell(job: dict, channel) -> dict:
    """Rank 0 tells its surroundings; with "refuse" it makes a user's mistake of them."""
    channel.send({"event": "hello", "rank": settings.rank(), "ranks": settings.world_size()})
    if "refuse" in job:
        raise UserError(job["refuse"])
    names = ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")
    return {"job": job, "environment": {n: os.environ[n] for n in names}}


def die(job: dict, channel) -> dict:
    """Rank 1 is killed, the others wait for it for ever."""
    if settings.rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)
    return {}


def wait(job: dict, channel) -> dict:
    """Leave each rank's pid in job["folder"], and stop on request."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, frame: asked.append(number))
    (Path(job["folder"]) / str(settings.rank())).write_text(str(os.getpid()))
    while not asked:
        time.sleep(0.02)
    raise Preempted("stopped by request")
