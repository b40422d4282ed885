"""The line that tells how far training is: a bar on a terminal, a log line elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from seamount.core import progress, settings

log = logging.getLogger("seamount")
_LOG_EVERY_S = 10.0


def step_line(event: dict[str, Any]) -> str:
    """One "step" event as text.

    `step 00420/10000 4.2% | loss 3.412 | bpb 1.021 | 812k tok/s | eta 1h12`
    """
    step, steps = event["step"], event["steps"]
    done = f"step {step:0{len(str(steps))}d}/{steps} {100 * step / steps:.1f}%"
    return f"{done} | {figures(event)} | eta {duration(event['eta_s'])}"


def figures(event: dict[str, Any]) -> str:
    """Loss, bits per byte and speed of a "step" event."""
    speed = f"{count(event['tokens_per_s'])} tok/s"
    return f"loss {event['loss']:.3f} | bpb {event['bpb']:.3f} | {speed}"


def count(value: float) -> str:
    """A number in three digits: 950, 8.12k, 812k, 1.5M."""
    for unit in ("", "k", "M", "G"):
        if value < 999.5 or unit == "G":
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Seconds in the two largest units: 45s, 3m05, 1h12, 2d03."""
    total = round(seconds)
    if total < 60:
        return f"{total}s"
    for size, small, letter in ((3600, 60, "m"), (86400, 3600, "h")):
        if total < size:
            return f"{total // small}{letter}{total % small * 60 // small:02d}"
    return f"{total // 86400}d{total % 86400 // 3600:02d}"


@contextmanager
def shown(steps: int, done: int = 0) -> Iterator[StepLine]:
    """Show training progress while the block runs; `done` steps lie behind already."""
    if settings.is_terminal():
        with progress.bar("train", steps) as bar:
            bar.advance(done)
            yield StepLine(bar)
    else:
        yield StepLine(None)


class StepLine:
    """Handle given by `shown`."""

    def __init__(self, bar: progress.Bar | None) -> None:
        self.bar = bar
        self.logged_s = -_LOG_EVERY_S

    def show(self, event: dict[str, Any]) -> None:
        """Show one "step" event: on the bar, or as a log line every ten seconds and at the end."""
        if self.bar is not None:
            self.bar.advance(event["step"] - self.bar.done, note=figures(event))
            return
        now_s = time.monotonic()
        if now_s - self.logged_s >= _LOG_EVERY_S or event["step"] == event["steps"]:
            self.logged_s = now_s
            log.info("%s", step_line(event))
