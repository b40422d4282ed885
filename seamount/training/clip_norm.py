"""The one global gradient norm: shards counted once, replicas once, tied weights once."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from seamount.training.mesh import DATA, PIPELINE, TENSOR, Layout
from seamount.training.recipe import ParallelRecipe
from seamount.training.tensor import local, placed_like

_ALONE = Layout(ParallelRecipe())


@torch.no_grad()
def global_norm(parameters: Iterable[Tensor], layout: Layout = _ALONE) -> Tensor:
    """L2 norm of all gradients as one vector, equal on every rank.

    `parameters` lists of what this rank holds each weight once, and of weights tied over stages
    one copy in all; the gradients are summed over the data ranks (on their owners, if the
    optimiser is sharded). All ranks must call it.
    """
    held = torch.zeros((), dtype=torch.float64)
    cut = torch.zeros((), dtype=torch.float64)
    for parameter in parameters:
        if parameter.grad is None:
            continue
        gradient = local(placed_like(parameter.grad, parameter))
        square = torch.linalg.vector_norm(gradient, dtype=torch.float64).square()
        if isinstance(parameter, DTensor) and any(p.is_shard() for p in parameter.placements):
            cut = cut + square
        else:
            held = held + square
    total = held + layout.add(cut, TENSOR)
    owned = (DATA,) if layout.parallel.shard_optimizer else ()
    return layout.add(total, PIPELINE, *owned).sqrt()


@torch.no_grad()
def scale(parameters: Iterable[Tensor], norm: Tensor, limit: float) -> None:
    """Scale all gradients so that their global norm, `norm`, is at most `limit` (0: no limit)."""
    if limit > 0 and norm > limit:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(float(limit / norm))
