"""Sends metrics to the waiting process, which logs them into the tracked run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback


class Tracking(Callback):
    """A "metrics" event every `every_steps` steps: means since the last one, and the speed.

    `tokens(step)` are those of all updates before `step`.

    The step itself pays for one line in a pipe; the tracked run is written by the other process.
    """

    def __init__(
        self, channel: Any, every_steps: int, steps: int, tokens: Callable[[int], int]
    ) -> None:
        self.channel = channel
        self.every_steps = every_steps
        self.steps = steps
        self.tokens = tokens
        self.sums: dict[str, float] = {}
        self.count = 0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock."""
        self.since_s = time.monotonic()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Add the step up, and tell of it when it is time."""
        for name, value in pl_module.last.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        self.count += 1
        step = pl_module.steps_done
        if step % self.every_steps == 0 or step == self.steps:
            self._send(step)

    def _send(self, step: int) -> None:
        now_s = time.monotonic()
        data = {f"train/{name}": total / self.count for name, total in self.sums.items()}
        seen = self.tokens(step)
        speed = (seen - self.tokens(step - self.count)) / max(1e-9, now_s - self.since_s)
        data |= {"train/tokens_per_s": speed, "train/tokens": seen}
        self.channel.send({"event": "metrics", "step": step, "data": data})
        self.sums, self.count, self.since_s = {}, 0, now_s
