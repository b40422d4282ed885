"""Saves the training state every so many steps, at the end, and when asked to stop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lightning.pytorch import Callback

from seamount.training import checkpoint
from seamount.training.recipe import Recipe
from seamount.training.state import full_state


class Checkpoints(Callback):
    """Writes checkpoints below `root`; `saved` is the last one's folder.

    `about` is what every manifest tells beside the step.
    """

    def __init__(self, channel: Any, root: Path, recipe: Recipe, about: dict[str, Any]) -> None:
        self.channel = channel
        self.root = root
        self.recipe = recipe
        self.about = about
        self.saved: Path | None = None

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save when it is time, or when the job is to stop."""
        step, every = pl_module.steps_done, self.recipe.checkpoint.every_steps
        due = step == self.recipe.steps or (every and step % every == 0)
        if due or trainer.should_stop:
            self.save(pl_module)

    def save(self, module: Any) -> None:
        """Write the checkpoint of this step."""
        step = module.steps_done
        data = self.recipe.data
        about = self.about | {
            "tokens_seen": self.recipe.batch_sizes.before(step) * data.sequence_length,
            "loss": module.last["loss"],
        }
        keep = self.recipe.checkpoint.keep
        self.saved = checkpoint.save(self.root, step, full_state(module), about, keep)
        self.channel.send({"event": "checkpoint", "step": step, "folder": str(self.saved)})
