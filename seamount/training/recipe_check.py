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
        "data.micro_batch_size": 0,
        "parallel.pipeline": 1,
        "parallel.data": 1,
        "parallel.tensor": 1,
        "parallel.stages_per_rank": 1,
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
    check_layout(recipe)


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


def check_layout(recipe: Recipe) -> None:
    """Raise UserError where the ranks of `recipe.parallel` cannot share its model and batch."""
    _check_tensor(recipe)
    _check_pipeline(recipe)
    parallel, data = recipe.parallel, recipe.data
    share = parallel.data * (data.micro_batch_size or 1)
    if data.batch_size % share:
        raise UserError(
            f"data.batch_size {data.batch_size} is no multiple of {share}, which is parallel.data "
            f"{parallel.data} times data.micro_batch_size {data.micro_batch_size or 1}: change one "
            "of them"
        )
    if parallel.shard_optimizer and parallel.data == 1:
        raise UserError("parallel.shard_optimizer needs ranks to share by: set parallel.data")


def _check_tensor(recipe: Recipe) -> None:
    parallel, config = recipe.parallel, recipe.model.config
    degree, length = parallel.tensor, recipe.data.sequence_length
    if parallel.sequence and degree == 1:
        raise UserError("parallel.sequence needs ranks to share by: set parallel.tensor")
    if parallel.sequence and length % degree:
        raise UserError(
            f"parallel.tensor {degree} does not divide data.sequence_length {length}, as "
            "parallel.sequence needs: change one of them"
        )
    if degree == 1:
        return
    for name in model_family(recipe.model.family).plan.TENSOR_DIVIDES:
        if getattr(config, name) % degree:
            raise UserError(
                f"parallel.tensor {degree} does not divide model.{name} {getattr(config, name)}: "
                "change one of them"
            )
    vocab = config.vocab_size
    if (degree - 1) * -(-vocab // degree) >= vocab:  # the last rank gets what the others left
        raise UserError(
            f"parallel.tensor {degree} leaves a rank with no id of model.vocab_size {vocab}: "
            "change one of them"
        )


def _check_pipeline(recipe: Recipe) -> None:
    parallel, layers = recipe.parallel, recipe.model.config.layers
    if parallel.pipeline == 1:
        if parallel.stages_per_rank > 1:
            raise UserError("parallel.stages_per_rank needs parallel.pipeline above 1")
        return
    if not hasattr(model_family(recipe.model.family).plan, "keep_stage"):
        raise UserError(
            f"model.family {recipe.model.family} cannot be cut into stages (its plan.py has no "
            "keep_stage): set parallel.pipeline to 1"
        )
    if parallel.stages > layers:
        raise UserError(
            f"parallel.pipeline times parallel.stages_per_rank is {parallel.stages}, more than "
            f"model.layers {layers}: each stage needs a layer"
        )
    looped = parallel.schedule in ("interleaved-1f1b", "zero-bubble")
    if parallel.stages_per_rank > 1 and not looped:
        raise UserError(
            f"parallel.schedule {parallel.schedule} takes one stage a rank: set "
            "parallel.stages_per_rank to 1, or the schedule to interleaved-1f1b"
        )
    if looped and recipe.micro_batches % parallel.pipeline:
        raise UserError(
            f"parallel.schedule {parallel.schedule} needs a number of micro-batches that "
            f"parallel.pipeline {parallel.pipeline} divides, and data.batch_size "
            f"{recipe.data.batch_size} makes {recipe.micro_batches}: change data.micro_batch_size"
        )
