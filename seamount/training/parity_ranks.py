"""What every rank of a parity run does: some real steps, with losses and gradients compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from torch import Tensor
from torch.distributed.tensor import DTensor

from seamount.training import random_state, tensor
from seamount.training.language_module import LanguageModule
from seamount.training.language_ranks import build_trainer, quiet
from seamount.training.recipe import Recipe, recipe_from_dict

# Share of the largest of all gradients below which one is rounding alone: a true one of a model
# this small is above 1e-5 of it, the rounding of fp32 was seen below 1e-9.
ROUNDING = 1e-8


class Recorder(Callback):
    """Keeps each step's loss and every gradient of the first step in full.

    Later gradients are taken at parameters that differ by rounding, which Adam's division
    amplifies; what goes wrong in an update shows in the losses that follow it.
    """

    def __init__(self) -> None:
        self.losses: list[float] = []
        self.gradients: dict[str, Tensor] = {}

    def on_before_optimizer_step(self, trainer: Trainer, pl_module: Any, optimizer: Any) -> None:
        """Gather what the backward pass left."""
        if pl_module.steps_done:
            return
        for name, parameter in pl_module.model.named_parameters():
            gradient = tensor.placed_like(parameter.grad, parameter)
            full = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
            self.gradients[name] = full.clone()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Keep the loss."""
        self.losses.append(pl_module.last["loss"])


def compare(job: dict[str, Any], channel: Any) -> dict[str, Any]:
    """Train on random tokens, first alone and then together: {loss, grad, worst} of the gap.

    Every rank runs the single-process reference for itself, so that one start serves both.
    """
    quiet()
    alone, together = _record(job["one"]), _record(job["layout"])
    gaps = [abs(a - b) for a, b in zip(alone.losses, together.losses, strict=True)]
    shares = gradient_gaps(alone.gradients, together.gradients)
    worst = max(shares, key=lambda name: shares[name])
    torch.distributed.destroy_process_group()
    return {"loss": max(gaps), "grad": shares[worst], "worst": worst}


def gradient_gaps(wanted: dict[str, Tensor], given: dict[str, Tensor]) -> dict[str, float]:
    """Each gradient's largest difference, as a share of its own largest value.

    A gradient that is 0 but for rounding (GPT-2's key bias, which softmax cancels) has no digits
    to compare: where both are that small, the gap is 0.
    """
    nothing = ROUNDING * max(float(g.abs().max()) for g in wanted.values())
    gaps = {}
    for name, gradient in wanted.items():
        most = float(gradient.abs().max())
        small = most <= nothing and float(given[name].abs().max()) <= nothing
        gap = float((gradient - given[name]).abs().max())
        gaps[name] = 0.0 if small else gap / most if most else math.inf
    return gaps


def _record(content: dict[str, Any]) -> Recorder:
    recipe = recipe_from_dict(content)
    random_state.seed_all(recipe.seed)
    module = LanguageModule(recipe, torch.ones(recipe.model.config.vocab_size, dtype=torch.int64))
    recorder = Recorder()
    trainer = build_trainer(recipe, [Spread(recipe.seed), recorder], recipe.steps)
    trainer.fit(module, train_dataloaders=RandomBatches(recipe))
    return recorder


class Spread(Callback):
    """Moves every parameter off its starting value.

    Matrices that start at 0 pass no gradient on, and a wrong layout could hide behind that.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @torch.no_grad()
    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Add the same noise in every layout."""
        generator = torch.Generator().manual_seed(self.seed)
        for parameter in pl_module.model.parameters():
            noise = 0.02 * torch.randn(parameter.shape, generator=generator)
            tensor.local(parameter).add_(tensor.local(tensor.placed_like(noise, parameter)))


@dataclass(frozen=True)
class RandomBatches:
    """Ids [B, T + 1] drawn from the recipe's seed, the same in every layout."""

    recipe: Recipe

    def __len__(self) -> int:
        return self.recipe.steps

    def __iter__(self) -> Iterator[Tensor]:
        generator = torch.Generator().manual_seed(self.recipe.seed)
        shape = (self.recipe.data.batch_size, self.recipe.data.sequence_length + 1)
        for _ in range(self.recipe.steps):
            yield torch.randint(self.recipe.model.config.vocab_size, shape, generator=generator)
