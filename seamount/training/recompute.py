"""Activation checkpointing: blocks that keep less for the backward pass, and compute it again.

"full" keeps a block's input alone (Chen et al. 2016, arXiv 1604.06174), "selective" also what
matrix products, attention and collectives gave (Korthikanti et al. 2022, arXiv 2205.05198), so
that none of these runs twice. The block's forward is wrapped, not the block: parameters keep their
names. Both compute the very operations of the first pass, so gradients are the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from seamount.training.recipe import Recipe

# By name, since torch has an attention of its own for each device.
_KEPT_NAMES = ("scaled_dot_product", "_c10d_functional", "wait_tensor")


def modes_of(recipe: Recipe, names: list[str]) -> dict[str, str]:
    """The mode of each layer called `names` ("0", "1", ...): every `every`-th is recomputed.

    It depends on the layer's number in the whole model, so that stages do not change it.
    """
    chosen = recipe.recompute
    return {n: chosen.mode if int(n) % chosen.every == 0 else "none" for n in names}


def apply(stage: nn.Module, modes: Mapping[str, str]) -> None:
    """Make the layers of `stage` recompute as `modes` (by the layer's name) say, in place."""
    layers: Any = getattr(stage, "layers", None)
    for name, block in layers.items() if layers is not None else ():
        if modes.get(name, "none") != "none":
            block.forward = recomputed(block.forward, modes[name])


def recomputed(forward: Callable[..., Any], mode: str) -> Callable[..., Any]:
    """`forward`, keeping for the backward pass what `mode` says."""
    options: dict[str, Any] = {"use_reentrant": False}
    if mode == "selective":
        options["context_fn"] = partial(create_selective_checkpoint_contexts, _policy)

    def run(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*args, **kwargs)
        return checkpoint(forward, *args, **options, **kwargs)

    return run


def _policy(_context: Any, operator: Any, *_args: Any, **_kwargs: Any) -> CheckpointPolicy:
    products = torch.ops.aten
    if operator in (products.mm.default, products.addmm.default, products.bmm.default):
        return CheckpointPolicy.MUST_SAVE
    if any(part in str(operator) for part in _KEPT_NAMES):
        return CheckpointPolicy.MUST_SAVE
    return CheckpointPolicy.PREFER_RECOMPUTE
