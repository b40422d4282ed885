"""`seamount train parity`: the user's recipe, shrunk, in each layout against one process.

A layout passes when losses and every parameter's gradient agree with the single-process run. The
worst gradient is named.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from seamount.core.registry import model_family
from seamount.training.launch import run_ranks
from seamount.training.recipe import ParallelRecipe, Recipe, recipe_to_dict

TARGET = "seamount.training.parity_ranks:record"
LAYOUTS = {"tp2": ParallelRecipe(tensor=2)}
STEPS, BATCH, TOKENS = 5, 3, 33  # an odd length: a split that needs even ones would show
LOSS_TOLERANCE, GRADIENT_TOLERANCE = 1e-5, 1e-5


def shrunk(recipe: Recipe) -> Recipe:
    """`recipe` with at most 2 layers, few steps, an odd sequence length and fp32."""
    config = recipe.model.config
    overrides = dict(recipe.model.overrides) | {"layers": min(2, config.layers)}
    tokens = min(TOKENS, config.context_length)
    return replace(
        recipe,
        model=replace(recipe.model, overrides=overrides),
        data=replace(recipe.data, batch_size=BATCH, sequence_length=tokens),
        schedule=replace(recipe.schedule, warmup_steps=0),
        steps=STEPS,
        precision="fp32",
        parallel=ParallelRecipe(),
    )


def layouts_of(recipe: Recipe) -> dict[str, ParallelRecipe]:
    """The layouts that divide this recipe's model."""
    config = recipe.model.config
    divides = model_family(recipe.model.family).plan.TENSOR_DIVIDES
    return {
        name: layout
        for name, layout in LAYOUTS.items()
        if not any(getattr(config, field) % layout.tensor for field in divides)
    }


def compare(recipe: Recipe) -> dict[str, Any]:
    """{layouts: {name: {loss, grad, worst, ok}}, ok}: largest differences from one process.

    `loss` is absolute; `grad` is each gradient's largest difference as a share of its own largest
    value, the worst one over parameters and steps, `worst` that parameter's name.
    """
    small = shrunk(recipe)
    with tempfile.TemporaryDirectory(prefix="seamount-parity-") as folder:
        reference = _record(small, Path(folder) / "one")
        rows = {
            name: _difference(
                reference, _record(replace(small, parallel=layout), Path(folder) / name)
            )
            for name, layout in layouts_of(small).items()
        }
    return {"layouts": rows, "ok": bool(rows) and all(row["ok"] for row in rows.values())}


def _record(recipe: Recipe, folder: Path) -> Path:
    job = {"recipe": recipe_to_dict(recipe), "out": str(folder)}
    run_ranks(TARGET, job, recipe.parallel.ranks, threads=1)
    return folder


def _difference(reference: Path, other: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    ours, theirs = (load_file(p / "record.safetensors") for p in (reference, other))
    loss = float((ours.pop("losses") - theirs.pop("losses")).abs().max())
    shares = {
        name: float((wanted - theirs[name]).abs().max() / wanted.abs().max().clamp_min(1e-12))
        for name, wanted in ours.items()
    }
    worst = max(shares, key=lambda name: shares[name])
    ok = loss <= LOSS_TOLERANCE and shares[worst] <= GRADIENT_TOLERANCE
    return {"loss": loss, "grad": shares[worst], "worst": worst, "ok": ok}
