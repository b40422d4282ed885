"""Pipeline parallelism: a model cut into stages, and torch's schedules run over micro-batches.

Stages go round the ranks: with P ranks, rank r holds stages r, P + r, 2 P + r, ... Each rank reads
the whole batch itself, so that only the residual stream travels.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from seamount.training.mesh import PIPELINE, Layout


def layers_of(stage: int, stages: int, layers: int) -> range:
    """Which layers `stage` holds: equal shares, what is left over going to the middle ones.

    The first and the last stage have the embedding and the head beside their layers.
    """
    share, left = divmod(layers, stages)
    order = sorted(range(stages), key=lambda s: (s in (0, stages - 1), s == stages - 1, s))
    counts = [share + (s in order[:left]) for s in range(stages)]
    start = sum(counts[:stage])
    return range(start, start + counts[stage])


def cut(model: nn.Module, layout: Layout, plan: Any) -> list[nn.Module]:
    """The stages that this rank holds, as copies of their parts of `model`."""
    stages = layout.parallel.stages
    return [copy.deepcopy(piece(model, n, stages, plan)) for n in stage_numbers(layout)]


def piece(model: nn.Module, stage: int, stages: int, plan: Any) -> nn.Module:
    """`model` as `stage` sees it: the rest taken away, what stays shared with `model`."""
    held = layers_of(stage, stages, model.config.layers)  # type: ignore[union-attr, arg-type]
    found = _own_children(model)
    for name, child in found._modules.items():
        if child is not None:
            found._modules[name] = _own_children(child)
    plan.keep_stage(found, held, stage == 0, stage == stages - 1)
    return found


def _own_children(module: nn.Module) -> nn.Module:
    """`module` over again, from which children can be taken without the first one losing them."""
    found = copy.copy(module)
    found.__dict__["_modules"] = dict(module._modules)
    return found


def stage_numbers(layout: Layout) -> range:
    """The numbers of this rank's stages."""
    return range(layout.rank(PIPELINE), layout.parallel.stages, layout.parallel.pipeline)


class Pipeline:
    """Runs the stages of this rank over batches of one size; the last one calls
    `loss(logits, targets)`.
    """

    def __init__(
        self,
        stages: list[nn.Module],
        layout: Layout,
        micro_batches: int,
        loss: Callable[[Tensor, Tensor], Tensor],
    ) -> None:
        from torch.distributed.pipelining import PipelineStage

        count, group = layout.parallel.stages, layout.group(PIPELINE)
        numbers = stage_numbers(layout)
        self.first = 0 in numbers
        self.last = count - 1 in numbers
        pieces = [
            PipelineStage(module, number, count, torch.device("cpu"), group=group)
            for number, module in zip(numbers, stages, strict=True)
        ]
        kind, several = _schedule(layout.parallel.schedule, micro_batches < count)
        # scale_grads would divide all that p.grad holds, by every call again
        self.schedule = kind(
            pieces if several else pieces[0], micro_batches, loss_fn=loss, scale_grads=False
        )

    def run(self, ids_BT: Tensor, targets_BT: Tensor, train: bool = True) -> Tensor:
        """The sum of the micro-batches' losses where the last stage is, 0 elsewhere.

        With `train` the gradients are added to the parameters' as well.
        """
        losses: list[Tensor] = []
        inputs = (ids_BT,) if self.first else ()
        ends = {"target": targets_BT, "losses": losses} if self.last else {}
        if train:
            self.schedule.step(*inputs, **ends, return_outputs=False)
        else:
            self.schedule.eval(*inputs, **ends)
        return (
            torch.stack(losses).double().sum() if losses else torch.zeros((), dtype=torch.float64)
        )


def _schedule(name: str, few: bool) -> tuple[Any, bool]:
    """torch's class for a schedule of the recipe, and whether it takes a list of stages.

    With `few` micro-batches, less than stages, 1F1B has no steady state and is GPipe; torch's
    class refuses to be that.
    """
    from torch.distributed import pipelining

    if few and name == "1f1b":
        name = "gpipe"
    return {
        "gpipe": (pipelining.ScheduleGPipe, False),
        "1f1b": (pipelining.Schedule1F1B, False),
        "interleaved-1f1b": (pipelining.ScheduleInterleaved1F1B, True),
        "zero-bubble": (pipelining.ScheduleInterleavedZeroBubble, True),
    }[name]
