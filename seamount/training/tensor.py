"""Tensor parallelism: a model family's plan put on a mesh, and the way between shard and whole."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate

from seamount.training.plan import tensor_plan


def apply_plan(model: nn.Module, mesh: Any, plan: Any) -> None:
    """Cut `model` over the tensor axis `mesh` as its family's plan.py says, in place.

    Every rank must hold the same weights before. Modules that the plan does not name stay whole.
    """
    from torch.distributed.tensor.parallel import parallelize_module

    styles = tensor_plan(plan, model.config)
    parallelize_module(model, mesh, {name: _style(style) for name, style in styles.items()})
    plan.retie(model)


def _style(name: str) -> Any:
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
    )

    match name:
        case "embedding":
            return RowwiseParallel(input_layouts=Replicate(), output_layouts=Replicate())
        case "column":
            return ColwiseParallel()
        case "row":
            return RowwiseParallel()
        case "heads":  # dim 1 of [batch, heads, tokens, head dim]
            return SequenceParallel(sequence_dim=1, use_local_output=True)
        case "head":
            return ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)
    raise ValueError(f"no parallel style is called {name!r}")


def local(tensor: Tensor) -> Tensor:
    """This rank's part of `tensor`, sharing its memory; a plain tensor is its own part."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def placed_like(tensor: Tensor | None, model: Tensor) -> Tensor:
    """`tensor` laid out as `model`: partial sums are added up, whole ones cut."""
    assert tensor is not None
    if not isinstance(model, DTensor):
        return tensor
    if not isinstance(tensor, DTensor):
        replicas = [Replicate()] * model.device_mesh.ndim
        tensor = DTensor.from_local(tensor, model.device_mesh, replicas, run_check=False)
    return tensor.redistribute(placements=model.placements)


def whole(part: Tensor, model: Tensor) -> Tensor:
    """The whole tensor of which every rank gives its `part`, laid out as `model`."""
    if not isinstance(model, DTensor):
        return part
    return DTensor.from_local(
        part,
        model.device_mesh,
        model.placements,
        run_check=False,
        shape=model.shape,
        stride=model.stride(),
    ).full_tensor()


def full_state(model: nn.Module) -> dict[str, Tensor]:
    """Whole parameters by name on every rank (a collective: all ranks call it)."""
    with torch.no_grad():
        return {
            name: (p.full_tensor() if isinstance(p, DTensor) else p).detach().clone()
            for name, p in model.named_parameters()
        }
