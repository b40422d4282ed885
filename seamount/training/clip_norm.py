"""The one global gradient norm: shards counted once, replicas once, tied weights once."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from seamount.training.tensor import local, placed_like


@torch.no_grad()
def global_norm(parameters: Iterable[Tensor]) -> Tensor:
    """L2 norm of all gradients as one vector, equal on every rank.

    `parameters` lists a tied weight once, as `Module.parameters` does.
    """
    held, cut = torch.zeros(()), torch.zeros(())
    group = None
    for parameter in parameters:
        if parameter.grad is None:
            continue
        square = local(placed_like(parameter.grad, parameter)).float().square().sum()
        if isinstance(parameter, DTensor) and any(p.is_shard() for p in parameter.placements):
            cut, group = cut + square, parameter.device_mesh.get_group()
        else:
            held = held + square
    if group is not None:
        torch.distributed.all_reduce(cut, group=group)
    return (held + cut).sqrt()


@torch.no_grad()
def clip(parameters: Iterable[Tensor], limit: float) -> Tensor:
    """Scale all gradients so that their global norm is at most `limit` (0: leave them).

    Returns the norm before. A norm that is not finite scales nothing.
    """
    parameters = list(parameters)
    norm = global_norm(parameters)
    if limit > 0 and torch.isfinite(norm) and norm > limit:
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad.mul_(limit / norm)
    return norm
