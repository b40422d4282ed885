"""What every rank of a parity run does: some real steps, with losses and gradients compared."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from lightning.pytorch import Callback
from torch import Tensor
from torch.distributed.tensor import DTensor

from seamount.training import random_state, tensor
from seamount.training.data_order import Batch
from seamount.training.faults import FAULTS
from seamount.training.language_module import LanguageModule
from seamount.training.language_ranks import build_trainer, data_place, quiet
from seamount.training.recipe import Recipe, recipe_from_dict

# Share of the largest of all gradients below which one is rounding alone: a true one of a model
# this small is above 1e-5 of it, the rounding of fp32 was seen below 1e-9.
ROUNDING = 1e-8


@dataclass
class Record:
    """Each step's loss and gradient norm, and every gradient of the first step in full.

    Later gradients are taken at parameters that differ by rounding, which Adam's division
    amplifies; what goes wrong in an update shows in the losses that follow it.
    """

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    gradients: dict[str, Tensor] = field(default_factory=dict)


class Recorder(Callback):
    """Fills a Record."""

    def __init__(self) -> None:
        self.record = Record()

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Keep the step's figures, and the gradients that made the first update."""
        self.record.losses.append(pl_module.last["loss"])
        self.record.norms.append(pl_module.last["grad_norm"])
        if pl_module.steps_done > 1:
            return
        for name, parameter in pl_module.parts.parameters.items():
            if parameter.grad is not None:
                gradient = tensor.placed_like(parameter.grad, parameter)
                full = gradient.full_tensor() if isinstance(gradient, DTensor) else gradient
                self.record.gradients[name] = full.clone()


def compare(job: dict[str, Any], channel: Any) -> dict[str, Any]:
    """Train on random tokens, first alone and then together: the gaps between the two.

    {loss, norm, grad, worst}. Every rank runs the single-process reference for itself, so that one
    start serves both, and compares what it holds; rank 0 has the worst of all.
    """
    quiet()
    alone = record(job["one"])
    if job["plant"]:
        FAULTS[job["plant"]].plant()
    together = record(job["layout"])
    shares = gradient_gaps(alone.gradients, together.gradients)
    worst = max(shares, key=lambda name: shares[name], default="")
    mine = {
        "loss": _gap(alone.losses, together.losses),
        "norm": _gap(alone.norms, together.norms),
        "grad": shares.get(worst, 0.0),
        "worst": worst,
        "held": sorted(shares),
    }
    everyone: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(everyone, mine)
    torch.distributed.destroy_process_group()
    missing = alone.gradients.keys() - {name for one in everyone for name in one["held"]}
    if missing:
        return {"loss": 0.0, "norm": 0.0, "grad": float("inf"), "worst": min(missing)}
    first = max(everyone, key=lambda one: one["grad"])
    found = {key: max(one[key] for one in everyone) for key in ("loss", "norm")}
    return {**found, "grad": first["grad"], "worst": first["worst"]}


def gradient_gaps(wanted: dict[str, Tensor], given: dict[str, Tensor]) -> dict[str, float]:
    """Each given gradient's largest difference, as a share of its own largest value.

    Under a sharded optimiser a rank has the gradients of what it owns alone. A gradient that is 0
    but for rounding (GPT-2's key bias, which softmax cancels) has no digits to compare: where both
    are that small, the gap is 0.
    """
    nothing = ROUNDING * max(float(g.abs().max()) for g in wanted.values())
    gaps = {}
    for name, gradient in given.items():
        most = float(wanted[name].abs().max())
        small = most <= nothing and float(gradient.abs().max()) <= nothing
        gap = float((wanted[name] - gradient).abs().max())
        gaps[name] = 0.0 if small else gap / most if most else math.inf
    return gaps


def _gap(alone: list[float], together: list[float]) -> float:
    """The largest difference, as a share of the larger of 1 and the value alone."""
    pairs = zip(alone, together, strict=True)
    return max(abs(a - b) / max(1.0, abs(a)) for a, b in pairs)


def record(content: dict[str, Any]) -> Record:
    """Train by the recipe `content` on random tokens, alone or with the other ranks."""
    recipe = recipe_from_dict(content)
    random_state.seed_all(recipe.seed)
    module = LanguageModule(recipe, torch.ones(recipe.model.config.vocab_size, dtype=torch.int64))
    recorder = Recorder()
    trainer = build_trainer(recipe, [Spread(recipe.seed), recorder], recipe.steps)
    trainer.fit(module, train_dataloaders=RandomBatches(recipe))
    return recorder.record


class Spread(Callback):
    """Moves every parameter off its starting value.

    Matrices that start at 0 pass no gradient on, and a wrong layout could hide behind that.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    @torch.no_grad()
    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Add the same noise in every layout."""
        for name, parameter in pl_module.parts.parameters.items():
            generator = torch.Generator().manual_seed(self.seed + zlib.crc32(name.encode()))
            noise = 0.02 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
            tensor.local(parameter).add_(tensor.local(tensor.placed_like(noise, parameter)))


@dataclass(frozen=True)
class RandomBatches:
    """Batches drawn from the recipe's seed, the same in every layout; some targets are IGNORED."""

    recipe: Recipe

    def __len__(self) -> int:
        return self.recipe.steps

    def __iter__(self) -> Iterator[Batch]:
        from seamount.training.cross_entropy import IGNORED

        data = self.recipe.data
        place, ranks = data_place(self.recipe)
        share = data.batch_size // ranks
        mine = slice(place * share, (place + 1) * share)
        generator = torch.Generator().manual_seed(self.recipe.seed)
        shape = (data.batch_size, data.sequence_length + 1)
        for _ in range(self.recipe.steps):
            rows = torch.randint(self.recipe.model.config.vocab_size, shape, generator=generator)
            targets = rows[:, 1:].clone()
            # unlike numbers of tokens in each row: a mean of means would show
            targets[torch.rand(targets.shape, generator=generator) < _shares(shape[0])] = IGNORED
            yield Batch(rows[mine, :-1], targets[mine])


def _shares(rows: int) -> Tensor:
    """Share of targets to leave out, by row [B, 1]."""
    return torch.linspace(0.0, 0.6, rows)[:, None]
