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
        "recompute.every": 1,
        "recompute.budget_bytes": 1,
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
        if isinstance(value, int | float) and value < least:
            raise UserError(f"{key} is {value}: it must be at least {least}")
    _check_ranges(recipe, config)
    if recipe.data.sequence_length > config.context_length:
        raise UserError(
            f"data.sequence_length {recipe.data.sequence_length} is above model.context_length "
            f"{config.context_length}: lower the first or raise the second"
        )
    if (recipe.data.tokens is None) != (recipe.data.tokenizer is None):
        raise UserError("data.tokens and data.tokenizer belong together: give both or neither")
    _check_recompute(recipe)
    _check_batches(recipe)
    check_layout(recipe)


def _check_recompute(recipe: Recipe) -> None:
    chosen, data = recipe.recompute, recipe.data
    if chosen.mode == "auto" and chosen.every != 1:
        raise UserError(
            f"recompute.every is {chosen.every}: with recompute.mode auto it must be 1, each layer "
            "is chosen for by itself"
        )
    for key, value in (
        ("recompute.mode", chosen.mode),
        ("data.micro_batch_size", data.micro_batch_size),
    ):
        if value == "auto" and chosen.budget_bytes is None:
            raise UserError(f"{key} is auto: give recompute.budget_bytes, within which it chooses")
    if chosen.mode == "selective" and recipe.parallel.schedule == "zero-bubble":
        raise UserError(
            "recompute.mode selective does not go with parallel.schedule zero-bubble, whose "
            "backward pass has two parts (what selective keeps serves one): set the mode to full"
        )


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


def _check_batches(recipe: Recipe) -> None:
    before = 0
    for place, (step, size) in enumerate(recipe.data.batch_schedule):
        key = f"data.batch_schedule[{place}]"
        if step <= before:
            raise UserError(f"{key} begins at step {step}: it must come after step {before}")
        if size < 1:
            raise UserError(f"{key} has batches of {size}: they must be at least 1")
        before = step


def _batches(recipe: Recipe) -> list[tuple[str, int]]:
    """Every batch size with its key."""
    later = [
        (f"data.batch_schedule[{i}]", s) for i, (_, s) in enumerate(recipe.data.batch_schedule)
    ]
    return [("data.batch_size", recipe.data.batch_size), *later]


def check_layout(recipe: Recipe) -> None:
    """Raise UserError where the ranks of `recipe.parallel` cannot share its model and batch."""
    _check_tensor(recipe)
    _check_pipeline(recipe)
    parallel, data = recipe.parallel, recipe.data
    size = data.micro_batch_size
    least = 1 if size == "auto" else size or 1
    share = parallel.data * least
    for key, batch_size in _batches(recipe):
        if batch_size % share:
            raise UserError(
                f"{key} {batch_size} is no multiple of {share}, which is parallel.data "
                f"{parallel.data} times data.micro_batch_size {least}: change one of them"
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
    for key, batch_size in _batches(recipe) if looped else ():
        size = recipe.micro_batch_size if recipe.data.micro_batch_size else batch_size
        count = max(1, batch_size // parallel.data // size)
        if count % parallel.pipeline:
            raise UserError(
                f"parallel.schedule {parallel.schedule} needs a number of micro-batches that "
                f"parallel.pipeline {parallel.pipeline} divides, and {key} {batch_size} makes "
                f"{count}: change data.micro_batch_size"
            )
