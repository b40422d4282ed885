"""What a recipe's values must satisfy before anything is started; each fault names its key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.core.registry import model_family

if TYPE_CHECKING:
    from seamount.training.recipe import Recipe

# Byte-level BPE: every byte, and one special token.
_LEAST_VOCAB, _MOST_VOCAB = 257, 1 << 20
_MOST_SEED = (1 << 63) - 1
_LEAST: Mapping[str, int] = MappingProxyType(
    {
        "steps": 1,
        "seed": 0,
        "threads": 0,
        "embedding_std": 0,
        "data.corpus_bytes": 1,
        "data.sequence_length": 1,
        "data.batch_size": 1,
        "parallel.tensor": 1,
        "checkpoint.keep": 1,
        "checkpoint.every_steps": 0,
        "validation.every_steps": 0,
        "validation.sequences": 1,
        "tracking.every_steps": 1,
        "schedule.warmup_steps": 0,
        "schedule.final_fraction": 0,
        "optimizer.lr": 0,
        "optimizer.embedding_lr": 0,
        "optimizer.head_lr": 0,
        "optimizer.weight_decay": 0,
        "optimizer.eps": 0,
        "optimizer.newton_schulz_steps": 1,
        "optimizer.clip_norm": 0,
    }
)


def check(recipe: Recipe) -> None:
    """Raise UserError for the first value that cannot work, or that fits no other one."""
    config = recipe.model.config
    for key, least in _LEAST.items():
        value = _value(recipe, key)
        if value is not None and value < least:
            raise UserError(f"{key} is {value}: it must be at least {least}")
    _check_ranges(recipe, config)
    if recipe.data.sequence_length > config.context_length:
        raise UserError(
            f"data.sequence_length {recipe.data.sequence_length} is above model.context_length "
            f"{config.context_length}: lower the first or raise the second"
        )
    if (recipe.data.tokens is None) != (recipe.data.tokenizer is None):
        raise UserError("data.tokens and data.tokenizer belong together: give both or neither")
    _check_tensor(recipe, config)


def _value(recipe: Recipe, key: str) -> Any:
    value: Any = recipe
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _check_ranges(recipe: Recipe, config: Any) -> None:
    if recipe.seed > _MOST_SEED:
        raise UserError(f"seed is {recipe.seed}: it must be at most {_MOST_SEED}")
    if not 0 < recipe.schedule.decay_fraction <= 1:
        raise UserError(
            f"schedule.decay_fraction is {recipe.schedule.decay_fraction}: it must lie in (0, 1]"
        )
    for name in ("momentum", "beta1", "beta2"):
        value = getattr(recipe.optimizer, name)
        if not 0 <= value < 1:
            raise UserError(f"optimizer.{name} is {value}: it must lie in [0, 1)")
    vocab = getattr(config, "vocab_size", _LEAST_VOCAB)
    if not _LEAST_VOCAB <= vocab <= _MOST_VOCAB:
        raise UserError(
            f"model.vocab_size is {vocab}: it must lie between {_LEAST_VOCAB} (256 bytes and a "
            f"special token) and {_MOST_VOCAB}"
        )


def _check_tensor(recipe: Recipe, config: Any) -> None:
    degree = recipe.parallel.tensor
    if degree == 1:
        return
    for name in model_family(recipe.model.family).plan.TENSOR_DIVIDES:
        if getattr(config, name) % degree:
            raise UserError(
                f"parallel.tensor {degree} does not divide model.{name} {getattr(config, name)}: "
                "change one of them"
            )
