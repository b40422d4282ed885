"""The same model, batches and AdamW in another training loop; prints one line of JSON.

    python training_loops.py LOOP JOB     (LOOP: plain or trainer; JOB: a file of JSON)

`plain` is the loop of a PyTorch tutorial, `trainer` is Hugging Face's Trainer with everything off
that writes or reports. Both train our own single-device model, so that only the loops differ.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from seamount.core.registry import model_family
from seamount.training.recipe import recipe_from_dict


class Clock:
    """Wall and CPU seconds of this process from the update `first` to the update `last`."""

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last
        self.read: list[tuple[float, float]] = []

    def tick(self, updates: int) -> None:
        """Called after each update."""
        if updates in (self.first, self.last):
            self.read.append((time.perf_counter(), time.process_time()))

    def figures(self) -> dict[str, float]:
        """{wall_s, cpu_s} a step."""
        (wall, cpu), (wall_after, cpu_after) = self.read
        steps = self.last - self.first
        return {"wall_s": (wall_after - wall) / steps, "cpu_s": (cpu_after - cpu) / steps}


def rows(job: dict[str, Any]) -> Tensor:
    """Every sequence of the run [steps * B, T + 1], cut from the token file as ours are."""
    ids = np.memmap(job["tokens"], dtype=job["dtype"], mode="r").astype(np.int64)
    length, count = job["sequence_length"], job["steps"] * job["batch_size"]
    starts = np.arange(count) % ((len(ids) - 1) // length) * length
    return torch.from_numpy(np.stack([ids[s : s + length + 1] for s in starts]))


def model_of(job: dict[str, Any]) -> nn.Module:
    """The recipe's model, as training starts it."""
    recipe = recipe_from_dict(job["recipe"])
    family = model_family(recipe.model.family)
    model = family.model.LanguageModel(recipe.model.config)
    family.model.initialise(model, recipe.seed, recipe.embedding_std)
    return model


def loss_of(logits_BTV: Tensor, targets_BT: Tensor) -> Tensor:
    """Mean cross-entropy in nats."""
    return functional.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten())


def plain(job: dict[str, Any], clock: Clock) -> None:
    """Forward, backward, clip, step."""
    model = model_of(job)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=job["lr"], betas=(0.9, 0.95), weight_decay=0.0, fused=True
    )
    batches = rows(job).split(job["batch_size"])
    for number, batch in enumerate(batches, start=1):
        optimizer.zero_grad()
        loss = loss_of(model(batch[:, :-1]), batch[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        clock.tick(number)


class WithLoss(nn.Module):
    """What Trainer wants of a model: a dict of inputs in, the loss out."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, row: Tensor, labels: Tensor | None = None, **_: Any) -> dict[str, Tensor]:
        """{loss} of `row` [B, T + 1]."""
        return {"loss": loss_of(self.model(row[:, :-1]), row[:, 1:])}


def trainer(job: dict[str, Any], clock: Clock) -> None:
    """Hugging Face's Trainer."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Ticks(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            clock.tick(state.global_step)

    arguments = TrainingArguments(
        output_dir=str(Path(job["tokens"]).parent / "trainer"),
        per_device_train_batch_size=job["batch_size"],
        max_steps=job["steps"],
        learning_rate=job["lr"],
        adam_beta2=0.95,
        max_grad_norm=1.0,
        lr_scheduler_type="constant",
        optim="adamw_torch_fused",
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
    )
    data = [{"row": row} for row in rows(job)]
    Trainer(WithLoss(model_of(job)), arguments, train_dataset=data, callbacks=[Ticks()]).train()


if __name__ == "__main__":
    work = json.loads(Path(sys.argv[2]).read_text())
    ticks = Clock(work["first"], work["steps"])
    {"plain": plain, "trainer": trainer}[sys.argv[1]](work, ticks)
    print(json.dumps(ticks.figures()))
