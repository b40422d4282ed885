"""What a training will cost, told before it starts (`seamount train RECIPE --dry-run`)."""

from __future__ import annotations

from typing import Any

from seamount.core.registry import model_family
from seamount.training.plan import tensor_plan
from seamount.training.recipe import Recipe

_BYTES_FP32 = 4


def predict(recipe: Recipe) -> dict[str, Any]:
    """Parameters, tokens, floating-point operations and bytes of the checked `recipe`.

    `model_flops` counts 6 per matrix parameter and token and causal attention in full
    (Chowdhery et al. 2022, PaLM, appendix B), within the window where a layer has one.
    """
    config = recipe.model.config
    tokens_per_step = recipe.data.batch_size * recipe.data.sequence_length
    attention = 12 * config.heads * config.head_dim * _attended(recipe)
    per_token = 6 * (config.parameters - _looked_up(config)) + attention
    states = _states_per_parameter(recipe, config.parameters)
    return {
        "model": f"{recipe.model.family}/{recipe.model.preset}",
        "parameters": config.parameters,
        "ranks": recipe.parallel.ranks,
        "steps": recipe.steps,
        "tokens_per_step": tokens_per_step,
        "tokens": tokens_per_step * recipe.steps,
        "model_flops": per_token * tokens_per_step * recipe.steps,
        "checkpoint_bytes": round(_BYTES_FP32 * config.parameters * (1 + states)),
        "micro_batches": recipe.micro_batches,
        "cut_over_ranks": sorted(tensor_plan(model_family(recipe.model.family).plan, config))
        if recipe.parallel.tensor > 1
        else [],
    }


def _attended(recipe: Recipe) -> int:
    """Positions that one token attends to, summed over layers."""
    config, tokens = recipe.model.config, recipe.data.sequence_length
    if hasattr(config, "attended"):
        return int(config.attended(tokens))
    return int(config.layers) * tokens


def _looked_up(config: Any) -> int:
    """Parameters of tables that are read by row, and not multiplied."""
    table = 0 if config.tied else config.vocab_size * config.hidden_size
    return int(table + getattr(config, "position_parameters", 0))


def _states_per_parameter(recipe: Recipe, parameters: int) -> float:
    """Optimiser values a parameter: Muon keeps one, AdamW two."""
    if recipe.optimizer.name == "adamw":
        return 2.0
    config = recipe.model.config
    tables = config.vocab_size * config.hidden_size * (1 if config.tied else 2)
    return 1.0 + (tables + getattr(config, "position_parameters", 0)) / parameters
