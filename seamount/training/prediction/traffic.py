"""Which collectives a rank takes part in for one step, by axis: how many, and of how many bytes.

Bytes are of the tensor that is summed, gathered (whole) or sent; what travels for it depends on the
network's algorithm. Sums of a few scalars, some in each step, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamount.training.mesh import DATA, PIPELINE, TENSOR
from seamount.training.prediction import activations
from seamount.training.prediction.held import (
    Stage,
    Weight,
    owned,
    stages_of_rank,
    weight_bytes,
    weights_of_rank,
)
from seamount.training.recipe import Recipe

_BUCKET_VALUES = 4 << 20  # as in data_parallel.py
Sent = tuple[str, str, int, int]  # axis, what, how often, bytes in all


def traffic(recipe: Recipe) -> list[dict[str, Any]]:
    """[{axis, kind, count, bytes}] of the pipeline's rank that sends most."""
    found = [_of_rank(recipe, place) for place in range(recipe.parallel.pipeline)]
    return max(found, key=lambda rows: sum(row["bytes"] for row in rows))


def _of_rank(recipe: Recipe, place: int) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str], list[int]] = {}
    for axis, kind, count, size in _all(recipe, place):
        row = sums.setdefault((axis, kind), [0, 0])
        row[0] += count
        row[1] += size
    return [
        {"axis": axis, "kind": kind, "count": count, "bytes": size}
        for (axis, kind), (count, size) in sums.items()
        if count
    ]


def _all(recipe: Recipe, place: int) -> Iterator[Sent]:
    weights = weights_of_rank(recipe, place)
    if recipe.parallel.tensor > 1:
        for stage in stages_of_rank(recipe, place):
            yield from _tensor(recipe, stage)
        yield from _uncut(recipe, weights)
        yield from _muon(recipe, weights)
    if recipe.parallel.pipeline > 1:
        yield from _pipeline(recipe, place, weights)
    if recipe.parallel.data > 1:
        yield from _data(recipe, weights)


def _tensor(recipe: Recipe, stage: Stage) -> Iterator[Sent]:
    """Of each block twice forward and twice backward (Shoeybi et al. 2019, section 3).

    Where positions are cut, each sum becomes a gathering and a scattering (Korthikanti et al. 2022,
    section 4.2.2).
    """
    config, sizes = recipe.model.config, activations.sizes_of(recipe)
    times, whole = recipe.micro_batches, sizes.tokens * config.hidden_size
    blocks = 2 * len(stage.layers)
    within = blocks + stage.last  # what goes into cut matrices, and its gradient out of them
    out = blocks + stage.first  # what comes out of them
    if recipe.parallel.sequence:
        both = times * (within + out)
        yield TENSOR, "all_gather", both, both * whole * sizes.compute
        yield TENSOR, "reduce_scatter", both, both * whole * sizes.compute
    else:
        yield (
            TENSOR,
            "all_reduce",
            times * (within + out),
            times * ((within + out) * whole * sizes.compute),
        )
    if stage.last:  # largest logit, sum of the softmax, the target's own
        yield TENSOR, "all_reduce", 3 * times, 3 * times * sizes.tokens * sizes.wide


def _uncut(recipe: Recipe, weights: list[Weight]) -> Iterator[Sent]:
    """Gradients of weights that are whole on every rank, each of which has a share."""
    from fnmatch import fnmatch

    from seamount.core.registry import model_family

    partial = getattr(model_family(recipe.model.family).plan, "TENSOR_PARTIAL", ())
    for weight in weights:
        whole = weight.local == weight.whole
        if whole and (
            recipe.parallel.sequence or any(fnmatch(weight.name, pattern) for pattern in partial)
        ):
            yield TENSOR, "all_reduce", 1, weight.whole * weight_bytes(recipe)


def _muon(recipe: Recipe, weights: list[Weight]) -> Iterator[Sent]:
    from seamount.training.optimizer import group_of

    for weight in owned(recipe, weights)[0]:
        kind = group_of(weight.name, len(weight.shape), recipe.optimizer)
        if kind == "muon" and weight.local < weight.whole:
            yield TENSOR, "all_gather", 1, weight.whole * weight_bytes(recipe)


def _pipeline(recipe: Recipe, place: int, weights: list[Weight]) -> Iterator[Sent]:
    config, sizes = recipe.model.config, activations.sizes_of(recipe)
    held = stages_of_rank(recipe, place)
    sends = sum((not s.last) + (not s.first) for s in held)
    size = activations.stream_bytes(config, sizes)
    times = recipe.micro_batches * sends
    yield PIPELINE, "send", times, times * size
    if config.tied and (held[0].first or held[-1].last):
        table = next(w for w in weights if w.name == "embedding.weight")
        yield PIPELINE, "all_reduce", 1, table.local * weight_bytes(recipe)


def _data(recipe: Recipe, weights: list[Weight]) -> Iterator[Sent]:
    """One sum of every gradient, or one to its owner and the new value back."""
    size = weight_bytes(recipe)
    for share in owned(recipe, weights):
        count, values = _buckets(share), sum(w.local for w in share)
        if not recipe.parallel.shard_optimizer:
            yield DATA, "all_reduce", count, values * size
            continue
        yield DATA, "reduce", count, values * size
        yield DATA, "broadcast", count, values * size


def _buckets(weights: list[Weight]) -> int:
    count, filled = 0, 0
    for weight in weights:
        if not count or filled + weight.local > _BUCKET_VALUES:
            count, filled = count + 1, 0
        filled += weight.local
    return count
