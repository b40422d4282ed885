"""Loss and bits per byte on held-out sequences during training."""

from __future__ import annotations

from typing import Any

from lightning.pytorch import Callback

from seamount.training.data_order import Batch


class Validation(Callback):
    """A "metrics" event on fixed `batches` every `every_steps` steps and at the end."""

    def __init__(self, channel: Any, batches: list[Batch], every_steps: int, steps: int) -> None:
        self.channel = channel
        self.batches = batches
        self.every_steps = every_steps
        self.steps = steps

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Evaluate when it is time; draws no random number, so training is not changed by it."""
        step = pl_module.steps_done
        if step % self.every_steps == 0 or step == self.steps:
            figures = pl_module.evaluate(self.batches)
            data = {f"val/{name}": value for name, value in figures.items()}
            self.channel.send({"event": "metrics", "step": step, "data": data})
