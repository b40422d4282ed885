"""Tells the waiting process how far training is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from lightning.pytorch import Callback

_EVERY_S = 0.25
_WINDOW = 50


class Progress(Callback):
    """Sends a "step" event at most every quarter second, and one at the end.

    `tokens(step)` are those of all updates before `step`.

    Loss and bits per byte are means over the last steps; speed and time left are measured over
    the same steps.
    """

    def __init__(self, channel: Any, steps: int, tokens: Callable[[int], int]) -> None:
        self.channel = channel
        self.steps = steps
        self.tokens = tokens
        self.recent: deque[tuple[float, float, float]] = deque(maxlen=_WINDOW)
        self.sent_s = 0.0

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Start the clock."""
        self.started_s = time.monotonic()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Note the step, and tell of it when it is time."""
        now_s = time.monotonic()
        self.recent.append((now_s, pl_module.last["loss"], pl_module.last["bpb"]))
        if now_s - self.sent_s >= _EVERY_S or pl_module.steps_done == self.steps:
            self.sent_s = now_s
            self.channel.send({"event": "step", **self.figures(pl_module.steps_done)})

    def figures(self, step: int) -> dict[str, Any]:
        """The numbers of the step line."""
        since_s = self.recent[0][0] if len(self.recent) > 1 else self.started_s
        counted = max(1, len(self.recent) - 1)
        step_s = max(1e-9, self.recent[-1][0] - since_s) / counted
        return {
            "step": step,
            "steps": self.steps,
            "loss": sum(r[1] for r in self.recent) / len(self.recent),
            "bpb": sum(r[2] for r in self.recent) / len(self.recent),
            "tokens_per_s": (self.tokens(step) - self.tokens(step - counted)) / counted / step_s,
            "eta_s": step_s * (self.steps - step),
        }
