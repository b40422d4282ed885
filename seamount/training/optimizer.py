"""Muon for the matrices inside the layers, AdamW for all else, in one optimizer.

Muon (Jordan et al. 2024) replaces a matrix's momentum by the nearest orthogonal matrix, found by
Newton-Schulz steps. torch.optim.Muon runs those in bfloat16, some 20 times slower than float32 on
a CPU, and on one shard at a time under DTensor, which is wrong; here whole matrices of equal shape
are taken together, in float32. Every rank orthogonalises the whole matrix and keeps its shard.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from seamount.training.recipe import OptimizerRecipe
from seamount.training.tensor import local, placed_like, whole

# Quintic coefficients of Jordan's Muon: steepest at zero, singular values end in about 0.7 .. 1.2.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_EPS = 1e-7


class MuonAdamW(torch.optim.Optimizer):
    """Steps groups of kind "muon" and "adamw"; its state is one tensor per parameter and name.

    State tensors are laid out as their parameter is, so that a checkpoint reshards them alike.
    `step_count` updates were made before the next `step`.
    """

    def __init__(self, groups: list[dict[str, Any]]) -> None:
        super().__init__(groups, {"kind": "adamw", "lr": 0.0, "weight_decay": 0.0})
        self.step_count = 0
        for group in self.param_groups:
            group["base_lr"] = group["lr"]
            for parameter in group["params"]:
                for name in STATE_NAMES[group["kind"]]:
                    self.state[parameter][name] = torch.zeros_like(parameter)

    def scale_lr(self, factor: float) -> None:
        """Set every group's rate to its own base rate times `factor`."""
        for group in self.param_groups:
            group["lr"] = group["base_lr"] * factor

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Update every parameter that has a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.step_count += 1
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            (self._muon if group["kind"] == "muon" else self._adamw)(group, parameters)
        return loss

    def _adamw(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        if not parameters:
            return
        states = [self.state[p] for p in parameters]
        torch._fused_adamw_(
            [local(p) for p in parameters],
            [local(placed_like(p.grad, p)) for p in parameters],
            [local(s["exp_avg"]) for s in states],
            [local(s["exp_avg_sq"]) for s in states],
            [],
            [torch.tensor(float(self.step_count)) for _ in parameters],
            lr=group["lr"],
            beta1=group["beta1"],
            beta2=group["beta2"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )

    def _muon(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        alike: dict[tuple[int, ...], list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for parameter in parameters:
            gradient = local(placed_like(parameter.grad, parameter))
            momentum = local(self.state[parameter]["momentum_buffer"])
            momentum.mul_(group["momentum"]).add_(gradient)
            ahead = gradient.add(momentum, alpha=group["momentum"])  # Nesterov
            update = whole(ahead, parameter)
            alike[tuple(sorted(update.shape))].append((parameter, update))
        for pairs in alike.values():
            updates = orthogonal([u for _, u in pairs], group["newton_schulz_steps"])
            for (parameter, _), update in zip(pairs, updates, strict=True):
                _apply(parameter, update, group)


STATE_NAMES = {"muon": ("momentum_buffer",), "adamw": ("exp_avg", "exp_avg_sq")}


def _apply(parameter: Tensor, update: Tensor, group: dict[str, Any]) -> None:
    rows, columns = update.shape
    target = local(parameter)
    if group["weight_decay"]:
        target.mul_(1 - group["lr"] * group["weight_decay"])
    rate = group["lr"] * math.sqrt(max(1, rows / columns))
    target.add_(local(placed_like(update, parameter)), alpha=-rate)


def orthogonal(matrices: list[Tensor], steps: int) -> list[Tensor]:
    """Each of `matrices` (equal shapes up to transposition) made near orthogonal, in float32."""
    wide = [m.mT if m.shape[0] > m.shape[1] else m for m in matrices]
    x = torch.stack(wide).float()
    x = x / (x.flatten(1).norm(dim=1)[:, None, None] + _EPS)
    for _ in range(steps):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return [
        (y.mT if m.shape[0] > m.shape[1] else y).to(m.dtype)
        for m, y in zip(matrices, x, strict=True)
    ]


def build_optimizer(parameters: Iterable[tuple[str, Tensor]], recipe: OptimizerRecipe) -> MuonAdamW:
    """The optimizer of `recipe` over named `parameters`, grouped by what each one is."""
    members: dict[str, list[Tensor]] = defaultdict(list)
    for name, parameter in parameters:
        members[group_of(name, parameter.dim(), recipe)].append(parameter)
    rates = {
        "muon": recipe.lr,
        "matrices": recipe.lr,
        "head": recipe.lr if recipe.head_lr is None else recipe.head_lr,
        "embedding": recipe.lr if recipe.embedding_lr is None else recipe.embedding_lr,
    }
    shared = {
        "momentum": recipe.momentum,
        "newton_schulz_steps": recipe.newton_schulz_steps,
        "beta1": recipe.beta1,
        "beta2": recipe.beta2,
        "eps": recipe.eps,
    }
    groups = [
        {
            "params": members[name],
            "kind": "muon" if name == "muon" else "adamw",
            "lr": rate,
            # decay pulls matrices only: a table's rare rows and a norm's scale are not meant
            "weight_decay": recipe.weight_decay if name in ("muon", "matrices") else 0.0,
            **shared,
        }
        for name, rate in rates.items()
        if members[name]
    ]
    return MuonAdamW(groups)


def group_of(name: str, dims: int, recipe: OptimizerRecipe) -> str:
    """Which group the parameter `name` of so many dims is in: muon, matrices, head, embedding."""
    if dims == 2 and name.startswith("layers."):
        return recipe.name if recipe.name == "muon" else "matrices"
    return "head" if name.startswith("head.") else "embedding"
