"""`seamount train parity`: the user's recipe, shrunk, in each layout against one process.

A layout passes when losses and every parameter's gradient agree with the single-process run. The
worst gradient is named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamount.core.errors import UserError
from seamount.core.registry import model_family
from seamount.training.launch import run_ranks
from seamount.training.recipe import ParallelRecipe, Recipe, recipe_to_dict

TARGET = "seamount.training.parity_ranks:compare"
LAYOUTS = {"tp2": ParallelRecipe(tensor=2)}
STEPS, BATCH, TOKENS = 20, 3, 33  # an odd length: a split that needs even ones would show
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-5


def shrunk(recipe: Recipe) -> Recipe:
    """`recipe` with at most 2 layers, few steps, an odd sequence length and fp32."""
    config = recipe.model.config
    tokens = min(TOKENS, config.context_length)
    overrides = dict(recipe.model.overrides) | _shrunk_model(config, tokens)
    return replace(
        recipe,
        model=replace(recipe.model, overrides=overrides),
        data=replace(recipe.data, batch_size=BATCH, sequence_length=tokens),
        schedule=replace(recipe.schedule, warmup_steps=0),
        steps=STEPS,
        precision="fp32",
        parallel=ParallelRecipe(),
    )


def _shrunk_model(config: Any, tokens: int) -> dict[str, int]:
    """At most 2 layers; a sliding window must be felt in so few tokens, in the last layer alone
    where it begins later than in the first."""
    layers = min(2, config.layers)
    if getattr(config, "sliding_window", None) is None:
        return {"layers": layers}
    return {
        "layers": layers,
        "sliding_window": min(config.sliding_window, tokens // 2),
        "sliding_from_layer": min(config.sliding_from_layer, layers - 1),
    }


def layouts_of(recipe: Recipe) -> dict[str, ParallelRecipe]:
    """The layouts that divide this recipe's model."""
    config = recipe.model.config
    return {
        name: layout
        for name, layout in LAYOUTS.items()
        if not any(getattr(config, field) % layout.tensor for field in _divided(recipe))
    }


def _divided(recipe: Recipe) -> tuple[str, ...]:
    fields: tuple[str, ...] = model_family(recipe.model.family).plan.TENSOR_DIVIDES
    return fields


def compare(recipe: Recipe) -> dict[str, Any]:
    """{layouts: {name: {loss, grad, worst, ok}}, ok}: largest differences from one process.

    `loss` is absolute, over all steps; `grad` is a gradient's largest difference as a share of its
    own largest value, the worst one over parameters, `worst` that parameter's name.
    """
    small = shrunk(recipe)
    rows = {name: _row(small, layout) for name, layout in layouts_of(small).items()}
    if not rows:
        raise UserError(
            f"no layout divides this model's {', '.join(_divided(small))}: there is nothing to "
            "compare"
        )
    return {"layouts": rows, "ok": all(row["ok"] for row in rows.values())}


def _row(recipe: Recipe, layout: ParallelRecipe) -> dict[str, Any]:
    job = {
        "one": recipe_to_dict(recipe),
        "layout": recipe_to_dict(replace(recipe, parallel=layout)),
    }
    row = run_ranks(TARGET, job, layout.ranks, threads=1)
    ok = row["loss"] <= LOSS_TOLERANCE and row["grad"] <= GRADIENT_TOLERANCE
    return {**row, "ok": ok}
