"""The most that a rank holds at once, part by part, and which rank holds most.

Activations are counted for each micro-batch in flight, whose number depends on the schedule and on
the rank's place in the pipeline (Narayanan et al. 2021, arXiv 2104.04473, section 2.2).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from seamount.training.prediction import activations
from seamount.training.prediction.held import (
    Stage,
    Weight,
    owned,
    stages_of_rank,
    weight_bytes,
    weights_of_rank,
)
from seamount.training.recipe import OptimizerRecipe, ParallelRecipe, Recipe

_BUCKET_VALUES = 4 << 20  # as in data_parallel.py
_FP32 = 4


def in_flight(parallel: ParallelRecipe, micro_batches: int, rank: int) -> int:
    """Most pairs of a micro-batch and a stage whose activations the pipeline rank `rank` keeps."""
    ranks, each = parallel.pipeline, parallel.stages_per_rank
    if ranks == 1:
        return 1
    if parallel.schedule == "gpipe" or (
        parallel.schedule == "1f1b" and micro_batches < parallel.stages
    ):
        return micro_batches * each
    if parallel.schedule == "1f1b":
        return min(micro_batches, ranks - rank)
    # torch's interleaved schedules: so many forward passes come before the first backward one
    rounds = micro_batches // max(1, micro_batches // ranks)
    if parallel.schedule == "zero-bubble":  # what weight gradients need stays longer
        return min(micro_batches * each, (each - 1) * rounds + ranks)
    return min(micro_batches * each, (each - 1) * rounds + 2 * (ranks - 1 - rank) + 1)


def memory(recipe: Recipe) -> dict[str, Any]:
    """Bytes of the rank that holds most, by part; see `_of_rank`."""
    found = [
        _of_rank(recipe, place, share)
        for place in range(recipe.parallel.pipeline)
        for share in owned(recipe, weights_of_rank(recipe, place))
    ]
    return max(found, key=lambda rank: rank["peak_bytes"])


def _of_rank(recipe: Recipe, place: int, share: list[Weight]) -> dict[str, Any]:
    """Of the rank at `place` of the pipeline whose optimiser updates `share`.

    `peak_bytes` is the larger of two: in the passes of a step, and when the optimiser works
    (`update_bytes`). `start_bytes` are held before the first step, by each rank in the machine's
    own memory: the whole model, beside the rank's part.
    """
    size, weights = weight_bytes(recipe), weights_of_rank(recipe, place)
    stages = stages_of_rank(recipe, place)
    parameters = sum(w.local for w in weights)
    state = size * sum(w.local * states_of(w, recipe.optimizer) for w in share)
    fixed = size * parameters + state + sum(s.buffer_bytes for s in stages)
    gradients = size * parameters
    passes = _passes(recipe, stages, weights, place, gradients)
    # a sharded optimiser lets go of what it does not own before it updates
    update = max(
        gradients + _bucket(recipe, weights),
        size * sum(w.local for w in share) + _muon_bytes(share, recipe),
    )
    found = {
        "pipeline_rank": place,
        "parameters": parameters,
        "parameter_bytes": size * parameters,
        "gradient_bytes": gradients,
        "optimizer_bytes": state,
        "activation_bytes": passes["activation_bytes"],
        "passing_bytes": passes["passing_bytes"],
        "micro_batches_in_flight": in_flight(recipe.parallel, recipe.micro_batches, place),
        "start_bytes": _start_bytes(recipe, stages),
        "update_bytes": fixed + update,
    }
    return found | {"peak_bytes": max(fixed + passes["bytes"], found["update_bytes"])}


def states_of(weight: Weight, optimizer: OptimizerRecipe) -> int:
    """How many values the optimiser keeps for each scalar of `weight`."""
    from seamount.training.optimizer import STATE_NAMES, group_of

    kind = "muon" if group_of(weight.name, len(weight.shape), optimizer) == "muon" else "adamw"
    return len(STATE_NAMES[kind])


def _passes(
    recipe: Recipe, stages: list[Stage], weights: list[Weight], place: int, gradients: int
) -> dict[str, int]:
    """Most bytes of activations and gradients in the forward and backward passes of a step."""
    config, sizes = recipe.model.config, activations.sizes_of(recipe)
    flight = in_flight(recipe.parallel, recipe.micro_batches, place)
    each = [activations.kept(config, sizes, stage) for stage in stages]
    kept = sum(each) * flight // len(stages)
    kept += _pipeline_buffers(recipe, stages, sizes, flight)
    kept += activations.casts(recipe, _multiplied(recipe, stages, weights))
    passing = max(activations.passing(config, sizes, stage) for stage in stages)
    largest = weight_bytes(recipe) * max(w.local for w in weights)
    if flight > 1 or recipe.micro_batches > 1:
        most = gradients + kept + max(passing, largest)
    else:  # gradients come as activations go
        head = activations.kept_by_head(config, sizes) if stages[-1].last else 0
        most = max(kept + passing, kept - head + largest + passing // 2, gradients + largest)
    return {"activation_bytes": kept, "passing_bytes": passing, "bytes": most}


def _multiplied(recipe: Recipe, stages: list[Stage], weights: list[Weight]) -> int:
    """Scalars of the matrices that are multiplied; a tied table is one where the head is."""
    tied = stages[-1].last and recipe.model.config.tied
    names = ("layers.", "head.", *(("embedding.",) if tied else ()))
    return sum(w.local for w in weights if len(w.shape) == 2 and w.name.startswith(names))


def _pipeline_buffers(
    recipe: Recipe, stages: list[Stage], sizes: activations.Sizes, flight: int
) -> int:
    """torch's pipeline holds each output until its backward pass, and a buffer for all it gets."""
    if recipe.parallel.pipeline == 1:
        return 0
    config = recipe.model.config
    outputs = sum(activations.output_bytes(config, sizes, s) for s in stages) * flight
    ways = sum((not s.first) + (not s.last) for s in stages)
    stream = activations.stream_bytes(config, sizes)
    return outputs // len(stages) + ways * recipe.micro_batches * stream


def _bucket(recipe: Recipe, weights: list[Weight]) -> int:
    """The gradients that one all-reduce over the data ranks takes together, copied."""
    if recipe.parallel.data == 1:
        return 0
    values = min(sum(w.local for w in weights), _BUCKET_VALUES)
    return weight_bytes(recipe) * max(values, *(w.local for w in weights))


def _muon_bytes(share: list[Weight], recipe: Recipe) -> int:
    """What Muon makes beside parameters and gradients: whole matrices, those of a shape at once."""
    from seamount.training.optimizer import group_of

    alike: dict[tuple[int, ...], int] = defaultdict(int)
    for weight in share:
        if group_of(weight.name, len(weight.shape), recipe.optimizer) == "muon":
            alike[tuple(sorted(weight.shape))] += 1
    most, before = 0, 0
    for (rows, columns), count in alike.items():
        matrices, gram = count * rows * columns, count * rows * rows
        most = max(most, _FP32 * (before + 2 * matrices + 2 * gram))
        before = matrices
    updates = sum(n * rows * columns for (rows, columns), n in alike.items())
    return weight_bytes(recipe) * updates + most


def _start_bytes(recipe: Recipe, stages: list[Stage]) -> int:
    """The whole model in float32, as every rank fills it from the seed, and the rank's part."""
    whole = _FP32 * int(recipe.model.config.parameters)
    if recipe.parallel.pipeline == 1:
        return whole
    return whole + _FP32 * sum(w.whole for s in stages for w in s.weights)
