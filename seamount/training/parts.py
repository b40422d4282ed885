"""What one rank holds of a model: its stages, its parameters by name, and its part in an update.

A step's gradients are made whole here, in this order: shares of tensor ranks, copies of a tied
matrix on two stages, data ranks. Then they have one norm, equal on all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from seamount.core.registry import model_family
from seamount.training import clip_norm, data_parallel, pipeline, recompute
from seamount.training.mesh import DATA, PIPELINE, TENSOR, Layout
from seamount.training.recipe import Recipe
from seamount.training.tensor import apply_plan, partial_gradients


class Parts:
    """The modules and parameters of one rank.

    `parameters` has every weight it holds under its name in the whole model, each once; `counted`
    leaves out the second copy of a matrix that is tied over two stages; `owned` has what this
    rank's optimiser updates.
    """

    def __init__(self, model: nn.Module, recipe: Recipe, layout: Layout) -> None:
        self.layout = layout
        self.plan = model_family(recipe.model.family).plan
        parallel = layout.parallel
        piped = parallel.pipeline > 1
        self.stages = pipeline.cut(model, layout, self.plan) if piped else [model]
        if parallel.tensor > 1:
            for stage in self.stages:
                apply_plan(stage, layout.mesh[TENSOR], self.plan, parallel.sequence)
        modes = _modes(self.stages, recipe, layout)
        for stage in self.stages:
            recompute.apply(stage, modes)
        copies: dict[str, str] = {}  # the copy's name on the last stage -> its name in the model
        if piped and getattr(recipe.model.config, "tied", False):
            name, copy = self.plan.TIED
            copies[copy] = name
        self.parameters: dict[str, Tensor] = {}
        self.counted: dict[str, Tensor] = {}
        for stage in self.stages:
            for name, parameter in stage.named_parameters():
                self.parameters[copies.get(name, name)] = parameter
                if name not in copies:
                    self.counted[name] = parameter
        self.tied_name = next(iter(copies.values()), None)
        self.tied_group = self._tied_group() if copies else None
        self.owner_of = (
            data_parallel.owners(self.parameters.items(), layout.size(DATA))
            if parallel.shard_optimizer
            else None
        )

    @property
    def owned(self) -> dict[str, Tensor]:
        """The parameters that this rank's optimiser updates."""
        mine = self.layout.rank(DATA)
        return {n: p for n, p in self.parameters.items() if self._owner(n) in (None, mine)}

    def _owner(self, name: str) -> int | None:
        return None if self.owner_of is None else self.owner_of[name]

    def _tied_group(self) -> Any:
        """The group of the first and the last stage's rank with this rank's other places."""
        ranks = self.layout.mesh.mesh  # [pipeline, data, tensor]
        first, last = ranks[0], ranks[self.layout.parallel.pipeline - 1]
        mine = None
        for pair in zip(first.flatten().tolist(), last.flatten().tolist(), strict=True):
            group = torch.distributed.new_group(list(pair))  # all ranks make every group
            if torch.distributed.get_rank() in pair:
                mine = group
        return mine

    @torch.no_grad()
    def finish_gradients(self) -> Tensor:
        """Make every gradient the whole batch's, and return their global norm."""
        layout = self.layout
        if layout.parallel.tensor > 1:
            for stage in self.stages:
                for parameter in partial_gradients(stage, self.plan, layout.parallel.sequence):
                    if parameter.grad is not None:
                        layout.add(parameter.grad, TENSOR)
        if self.tied_group is not None and self.tied_name in self.parameters:
            self._sum_tied(self.parameters[self.tied_name])
        data_parallel.sum_gradients(self.parameters, layout, self.owner_of)
        return clip_norm.global_norm(self.counted.values(), layout)

    def _sum_tied(self, parameter: Tensor) -> None:
        from seamount.training.tensor import local, placed_like

        parameter.grad = placed_like(parameter.grad, parameter)
        torch.distributed.all_reduce(local(parameter.grad), group=self.tied_group)

    def clip(self, norm: Tensor, limit: float) -> None:
        """Scale the gradients down to a global norm of `limit` (0: never).

        After a norm that is not finite there are no gradients: all ranks pass over the step.
        """
        if torch.isfinite(norm):
            clip_norm.scale(self.parameters.values(), norm, limit)
            return
        for parameter in self.parameters.values():
            parameter.grad = None

    def send_updates(self) -> None:
        """After the optimiser's step: what each data rank updated reaches the others."""
        if self.owner_of is not None:
            data_parallel.send_updates(self.parameters, self.layout, self.owner_of)

    def totals(self, values: Tensor, *, over_stages: bool = False) -> Tensor:
        """`values` summed over the data ranks (and over the stages), in place."""
        return self.layout.add(values, DATA, *((PIPELINE,) if over_stages else ()))


def _modes(stages: list[nn.Module], recipe: Recipe, layout: Layout) -> Mapping[str, str]:
    """How each layer of `stages` recomputes."""
    if recipe.recompute.mode == "auto":
        from seamount.training.memory_budget import choose

        return choose(recipe)[layout.rank(PIPELINE)].modes
    return recompute.modes_of(recipe, [n for s in stages for n in getattr(s, "layers", ())])
