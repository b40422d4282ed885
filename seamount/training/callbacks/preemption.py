"""Stops at the end of a step when a signal asked for it, on all ranks at the same step."""

from __future__ import annotations

import signal
from typing import Any

import torch
from lightning.pytorch import Callback

from seamount.core import settings


class Preemption(Callback):
    """The handler only raises a flag; ranks agree on it after each step.

    It must stand before `Checkpoints` in the list of callbacks, which saves on the same step.
    """

    def __init__(self) -> None:
        self.asked = 0

    def listen(self) -> None:
        """Take SIGTERM and SIGINT for the request to stop."""
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Listen again: Lightning put handlers of its own in place."""
        self.listen()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Stop if any rank was asked to."""
        if settings.world_size() > 1:
            flag = torch.tensor(self.asked)
            torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MAX)
            self.asked = int(flag)
        if self.asked:
            trainer.should_stop = True

    def _ask(self, number: int, _frame: Any) -> None:
        self.asked = number
