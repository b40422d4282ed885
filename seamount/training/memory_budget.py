"""`auto`: which layers recompute, and how large a micro-batch is, within `recompute.budget_bytes`.

The budget is for what a rank keeps of its forward passes: of all micro-batches that its schedule
has under way at once, and what a recomputed layer makes anew. Weights, gradients and optimiser
state are not in it. The choice follows from the recipe alone, so that every start takes it again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from seamount.core.errors import UserError
from seamount.training.activations import MODES, Activations, measure
from seamount.training.recipe import Recipe, RecomputeRecipe, recipe_from_dict, recipe_to_dict
from seamount.training.recipe_check import check_layout
from seamount.training.recompute import modes_of

AUTO: Final = "auto"
_ByLayer = dict[str, dict[str, int]]


@dataclass(frozen=True)
class Choice:
    """What one pipeline rank does: `modes` by layer, its predicted peak, and the price.

    `recomputed` is the share of the rank's floating-point operations (forward once, backward
    twice) that recomputing adds; elementwise work, all that "selective" repeats, is not counted.
    """

    micro_batch_size: int
    modes: Mapping[str, str]
    peak_bytes: int
    recomputed: float

    def describe(self, rank: int) -> str:
        """One line of it for a reader."""
        counts = {m: list(self.modes.values()).count(m) for m in MODES}
        layers = ", ".join(f"{n} {mode}" for mode, n in counts.items() if n)
        return (
            f"pipeline rank {rank}: micro-batches of {self.micro_batch_size}, layers {layers}; "
            f"activations {self.peak_bytes / 1e6:.3f} MB at most, "
            f"{100 * self.recomputed:.1f} % more operations"
        )


def is_auto(recipe: Recipe) -> bool:
    """Whether anything is to be chosen."""
    return AUTO in (recipe.recompute.mode, recipe.data.micro_batch_size)


def resolved(recipe: Recipe) -> Recipe:
    """`recipe` with a number for its micro-batch; the modes stay `auto`, which `choose` tells."""
    if recipe.data.micro_batch_size != AUTO:
        return recipe
    return _sized(recipe, choose(recipe)[0].micro_batch_size)


def choose(recipe: Recipe) -> list[Choice]:
    """The choice of every pipeline rank: fewest operations more, then fewest layers that recompute,
    then the largest micro-batch.

    Raises UserError where not even recomputing all of micro-batches of the least size fits.
    """
    stages = range(recipe.parallel.stages)
    shape = json.dumps(recipe_to_dict(_shape(recipe)))
    measured = [(_measured(shape, n, 1), _measured(shape, n, 2)) for n in stages]
    found = []
    for size in _sizes(recipe):
        grown = [_grown(one, two, size) for one, two in measured]
        ranks = range(recipe.parallel.pipeline)
        found.append([_of_rank(_sized(recipe, size), grown[r :: len(ranks)], r) for r in ranks])
    budget = recipe.recompute.budget_bytes
    fitting = [c for c in found if budget is None or max(r.peak_bytes for r in c) <= budget]
    if not fitting:
        least = min(max(r.peak_bytes for r in choices) for choices in found)
        raise UserError(
            f"recompute.budget_bytes is {budget}, but a rank keeps {least} at least: raise it, or "
            "lower data.sequence_length or data.micro_batch_size"
        )
    return min(fitting, key=_price)


def _price(choices: list[Choice]) -> tuple[float, int, int]:
    recomputing = sum(mode != "none" for c in choices for mode in c.modes.values())
    return max(c.recomputed for c in choices), recomputing, -choices[0].micro_batch_size


def _shape(recipe: Recipe) -> Recipe:
    """`recipe` without what activations do not depend on."""
    any_size = replace(recipe.data, micro_batch_size=AUTO)
    return replace(recipe, data=any_size, recompute=RecomputeRecipe(budget_bytes=1))


@lru_cache(maxsize=256)
def _measured(shape: str, stage: int, rows: int) -> Activations:
    return measure(recipe_from_dict(json.loads(shape)), stage, rows)


def _sized(recipe: Recipe, size: int) -> Recipe:
    return replace(recipe, data=replace(recipe.data, micro_batch_size=size))


def _sizes(recipe: Recipe) -> Iterator[int]:
    """Micro-batches that divide a data rank's share and that the schedule takes, largest first."""
    if recipe.data.micro_batch_size != AUTO:
        yield recipe.micro_batch_size
        return
    for size in range(max(recipe.batch_sizes.all) // recipe.parallel.data, 0, -1):
        try:
            check_layout(_sized(recipe, size))
        except UserError:
            continue
        yield size


def _grown(one: Activations, two: Activations, size: int) -> Activations:
    """The activations of a micro-batch of `size`, from those of 1 and 2: steps are equal."""

    def at(first: int, second: int) -> int:
        return first + (size - 1) * (second - first)

    def each(first: _ByLayer, second: _ByLayer) -> _ByLayer:
        return {n: {m: at(first[n][m], second[n][m]) for m in MODES} for n in first}

    return Activations(
        layer_bytes=each(one.layer_bytes, two.layer_bytes),
        ends_bytes=at(one.ends_bytes, two.ends_bytes),
        again_flops=each(one.again_flops, two.again_flops),
        flops=at(one.flops, two.flops),
    )


def _of_rank(recipe: Recipe, stages: list[Activations], rank: int) -> Choice:
    """The cheapest modes within the budget, or else those that keep least."""
    budget = recipe.recompute.budget_bytes
    for modes in _orders(recipe, [name for stage in stages for name in stage.layer_bytes]):
        choice = _judge(recipe, stages, modes, in_flight(recipe, rank))
        if budget is None or choice.peak_bytes <= budget:
            break
    return choice


def _orders(recipe: Recipe, layers: list[str]) -> Iterator[dict[str, str]]:
    """Modes to try, the cheapest first: one layer after the other keeps less, then still less."""
    if recipe.recompute.mode != AUTO:
        yield modes_of(recipe, layers)
        return
    modes = dict.fromkeys(layers, "none")
    yield dict(modes)
    # torch runs a selective layer's backward once, a zero-bubble schedule in two parts
    twice = recipe.parallel.schedule == "zero-bubble"
    for mode in ("full",) if twice else ("selective", "full"):
        for name in layers:
            modes[name] = mode
            yield dict(modes)


def _judge(recipe: Recipe, stages: list[Activations], modes: dict[str, str], held: int) -> Choice:
    kept = work = flops = again = 0
    for stage in stages:
        kept += stage.ends_bytes
        flops += 3 * stage.flops
        for name, sizes in stage.layer_bytes.items():
            kept += sizes[modes[name]]
            if modes[name] != "none":  # what it makes anew, for as long as its backward takes
                work = max(work, sizes["none"] - sizes[modes[name]])
            # zero-bubble's backward has two parts, each of which recomputes
            times = 2 if recipe.parallel.schedule == "zero-bubble" else 1
            again += times * stage.again_flops[name][modes[name]]
    peak = kept * held // len(stages) + work
    return Choice(recipe.micro_batch_size, modes, peak, again / flops)


def in_flight(recipe: Recipe, rank: int) -> int:
    """How many micro-batches a pipeline rank holds at once, each counted for each of its stages.

    GPipe holds all; 1F1B one a stage from this on (Narayanan et al. 2021, arXiv 2104.04473);
    interleaved what torch's schedule warms up with, and one. For zero-bubble all are assumed.
    """
    parallel, count = recipe.parallel, recipe.micro_batches
    if parallel.pipeline == 1:
        return 1
    ranks, pieces = parallel.pipeline, parallel.stages_per_rank
    if parallel.schedule == "1f1b" and count >= ranks:  # with fewer it is GPipe
        return min(count, ranks - rank)
    if parallel.schedule == "interleaved-1f1b":
        ahead = (pieces - 1) * (count // max(1, count // ranks)) + 2 * (ranks - 1 - rank)
        return min(count * pieces, ahead + 1)
    return count * pieces
