"""`seamount train parity`: the user's recipe, shrunk, in each layout against one process.

A layout passes when losses and every parameter's gradient agree with the single-process run. The
worst gradient is named.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from typing import Any

from seamount.core.errors import UserError
from seamount.training.faults import FAULTS
from seamount.training.launch import run_ranks
from seamount.training.recipe import ParallelRecipe, Recipe, recipe_to_dict
from seamount.training.recipe_check import check_layout

TARGET = "seamount.training.parity_ranks:compare"
LAYOUTS = {
    "tp2": ParallelRecipe(tensor=2),
    "sp": ParallelRecipe(tensor=2, sequence=True),
    "pp2": ParallelRecipe(pipeline=2),
    "dp2": ParallelRecipe(data=2),
    "dp2-sharded": ParallelRecipe(data=2, shard_optimizer=True),
    "tp2xpp2": ParallelRecipe(pipeline=2, tensor=2, sequence=True),
}
STEPS, BATCH, TOKENS = 20, 4, 34
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-5


def shrunk(recipe: Recipe) -> Recipe:
    """`recipe` with 2 to 4 layers, few steps, a short sequence, small micro-batches and fp32."""
    config = recipe.model.config
    tokens = min(TOKENS, config.context_length // 2 * 2)
    overrides = dict(recipe.model.overrides) | _shrunk_model(config, tokens)
    data = replace(
        recipe.data,
        batch_size=BATCH,
        batch_schedule=(),
        micro_batch_size=1,
        sequence_length=tokens,
    )
    return replace(
        recipe,
        model=replace(recipe.model, overrides=overrides),
        data=data,
        schedule=replace(recipe.schedule, warmup_steps=0),
        steps=STEPS,
        precision="fp32",
        parallel=ParallelRecipe(),
    )


def _shrunk_model(config: Any, tokens: int) -> dict[str, int]:
    """2 to 4 layers; a sliding window must be felt in so few tokens, in the last layer alone where
    it begins later."""
    layers = min(4, max(2, config.layers))
    if getattr(config, "sliding_window", None) is None:
        return {"layers": layers}
    return {
        "layers": layers,
        "sliding_window": min(config.sliding_window, tokens // 2),
        "sliding_from_layer": min(config.sliding_from_layer, layers - 1),
    }


def layouts_of(recipe: Recipe) -> dict[str, ParallelRecipe]:
    """The layouts that fit this recipe's model."""
    found = {}
    for name, layout in LAYOUTS.items():
        with suppress(UserError):
            check_layout(replace(recipe, parallel=layout))
            found[name] = layout
    return found


def compare(recipe: Recipe, only: Collection[str] = (), plant: str | None = None) -> dict[str, Any]:
    """{layouts: {name: {loss, norm, grad, worst, ok}}, ok}: largest differences from one process.

    `loss` and `norm` (of the gradient) are over all steps, as a share of values above 1; `grad` is
    a gradient's largest difference as a share of its own largest value, the worst one over
    parameters, `worst` that parameter's name. Layouts that do not fit the model are left out, and
    those not in `only` where it names some. `plant` puts one of FAULTS into every rank, in the
    layouts that need what it breaks.
    """
    small = shrunk(recipe)
    unknown = sorted(set(only) - LAYOUTS.keys())
    if unknown:
        raise UserError(f"no layout is called {unknown[0]!r}: choose of {', '.join(LAYOUTS)}")
    if plant is not None:
        if plant not in FAULTS:
            raise UserError(f"no fault is called {plant!r}: choose of {', '.join(FAULTS)}")
        only = only or FAULTS[plant].layouts
    chosen = {n: layout for n, layout in layouts_of(small).items() if not only or n in only}
    rows = {name: _row(small, layout, plant) for name, layout in chosen.items()}
    if not rows:
        raise UserError(
            f"no layout of {', '.join(only or LAYOUTS)} fits this model: nothing can be compared"
        )
    return {"layouts": rows, "ok": all(row["ok"] for row in rows.values())}


def _row(recipe: Recipe, layout: ParallelRecipe, plant: str | None = None) -> dict[str, Any]:
    job = {
        "one": recipe_to_dict(recipe),
        "layout": recipe_to_dict(replace(recipe, parallel=layout)),
        "plant": plant,
    }
    row = run_ranks(TARGET, job, layout.ranks, threads=1)
    ok = max(row["loss"], row["norm"]) <= LOSS_TOLERANCE and row["grad"] <= GRADIENT_TOLERANCE
    return {**row, "ok": ok}
