"""All predictions of one recipe, as plain data."""

from __future__ import annotations

from typing import Any

from seamount.core.registry import model_family
from seamount.training.plan import tensor_plan
from seamount.training.prediction.compute import flops_per_token, time_of
from seamount.training.prediction.held import stages
from seamount.training.prediction.memory import memory, states_of, weight_bytes
from seamount.training.prediction.traffic import traffic
from seamount.training.recipe import Recipe


def predict(
    recipe: Recipe, device: str = "cpu", peak: float | None = None, mfu: float | None = None
) -> dict[str, Any]:
    """What the checked `recipe` will hold, send and take on `device` (h100, a100, cpu).

    `peak` is a device's FLOP/s and `mfu` the share of it that is assumed; both have defaults, the
    peak of a CPU is measured. Sizes are in bytes, times in seconds or hours. Raises UserError for
    an unknown device.
    """
    config = recipe.model.config
    tokens_per_step = recipe.data.batch_size * recipe.data.sequence_length
    tokens = recipe.batch_sizes.before(recipe.steps) * recipe.data.sequence_length
    return {
        "model": f"{recipe.model.family}/{recipe.model.preset}",
        "parameters": config.parameters,
        "ranks": recipe.parallel.ranks,
        "steps": recipe.steps,
        "tokens_per_step": tokens_per_step,
        "tokens": tokens,
        "model_flops": flops_per_token(recipe) * tokens,
        "checkpoint_bytes": _checkpoint_bytes(recipe),
        "micro_batches": recipe.micro_batches,
        "cut_over_ranks": sorted(tensor_plan(model_family(recipe.model.family).plan, config))
        if recipe.parallel.tensor > 1
        else [],
        "memory": memory(recipe),
        "collectives": traffic(recipe),
        **time_of(recipe, device, peak, mfu),
    }


def _checkpoint_bytes(recipe: Recipe) -> int:
    """Every weight and its optimiser state once, whatever the layout."""
    weights = {w.name: w for stage in stages(recipe) for w in stage.weights}.values()
    values = sum(w.whole * (1 + states_of(w, recipe.optimizer)) for w in weights)
    return weight_bytes(recipe) * values
