"""Which weights each rank holds, found on torch's meta device: exact, for every model family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import lru_cache
from math import prod
from typing import Any

from seamount.core.registry import model_family
from seamount.training.plan import tensor_plan
from seamount.training.recipe import Recipe

# The dim of a module's weight that each style of a plan cuts; a bias is cut where outputs are.
_CUT_DIM: Mapping[str, int] = {"embedding": 0, "column": 0, "head": 0, "row": 1}
_BYTES: Mapping[str, int] = {"fp64": 8, "fp32": 4, "bf16-mixed": 4, "bf16-true": 2}


@dataclass(frozen=True)
class Weight:
    """One parameter: its name in the whole model, its shape there, and what a tensor rank has."""

    name: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]

    @property
    def whole(self) -> int:
        """Scalars in all."""
        return prod(self.shape)

    @property
    def local(self) -> int:
        """Scalars on a tensor rank: on the first one, where the parts are not equal."""
        return prod(self.local_shape)

    def numel(self) -> int:
        """As of a tensor: `data_parallel.owners` shares out by it."""
        return self.whole


@dataclass(frozen=True)
class Stage:
    """One stage of the pipeline: its weights, its buffers' bytes, layers, and which ends it has."""

    weights: tuple[Weight, ...]
    buffer_bytes: int
    layers: tuple[int, ...]
    first: bool
    last: bool


def weight_bytes(recipe: Recipe) -> int:
    """Bytes of one stored scalar, of its gradient, and of each value of optimiser state."""
    return _BYTES[recipe.precision]


def stages_of_rank(recipe: Recipe, pipeline_rank: int) -> list[Stage]:
    """The stages that a rank at `pipeline_rank` holds."""
    parallel = recipe.parallel
    return stages(recipe)[pipeline_rank :: parallel.pipeline]


def weights_of_rank(recipe: Recipe, pipeline_rank: int) -> list[Weight]:
    """Every weight that a rank at `pipeline_rank` holds, each once."""
    found = {w.name: w for s in stages_of_rank(recipe, pipeline_rank) for w in s.weights}
    return list(found.values())


def owned(recipe: Recipe, weights: list[Weight]) -> list[list[Weight]]:
    """Of these, what each data rank's optimiser updates: all, or its share."""
    from seamount.training.data_parallel import owners

    ranks = recipe.parallel.data
    if not recipe.parallel.shard_optimizer:
        return [weights]
    owner_of: dict[str, int] = owners(((w.name, w) for w in weights), ranks)  # type: ignore[misc]
    return [[w for w in weights if owner_of[w.name] == rank] for rank in range(ranks)]


def stages(recipe: Recipe) -> list[Stage]:
    """All stages in order; a model that is not cut is one."""
    key = (recipe.model.family, recipe.parallel.stages, recipe.parallel.tensor)
    return _stages(recipe.model.config, *key)


@lru_cache(maxsize=32)
def _stages(config: Any, family_name: str, count: int, tensor: int) -> list[Stage]:
    import torch

    from seamount.training.pipeline import layers_of, piece

    family = model_family(family_name)
    with torch.device("meta"):
        model = family.model.LanguageModel(config)
    styles = tensor_plan(family.plan, config) if tensor > 1 else {}
    found = []
    for number in range(count):
        part = piece(model, number, count, family.plan) if count > 1 else model
        buffers = sum(b.numel() * b.element_size() for b in part.buffers())
        weights = tuple(_weight(n, p, styles, tensor) for n, p in part.named_parameters())
        first, last = number == 0, number == count - 1
        if last and not first and getattr(config, "tied", False):
            weights = _under_one_name(weights, *family.plan.TIED)
        layers = tuple(layers_of(number, count, config.layers))
        found.append(Stage(weights, buffers, layers, first, last))
    return found


def _under_one_name(weights: tuple[Weight, ...], name: str, copy: str) -> tuple[Weight, ...]:
    """As parts.py has it: the second copy of a tied matrix goes by the first one's name."""
    return tuple(Weight(name, w.shape, w.local_shape) if w.name == copy else w for w in weights)


def _weight(name: str, parameter: Any, styles: Mapping[str, str], tensor: int) -> Weight:
    shape = tuple(parameter.shape)
    module, _, kind = name.rpartition(".")
    style = next((s for pattern, s in styles.items() if fnmatch(module, pattern)), "")
    dim = _CUT_DIM.get(style)
    if dim is None or dim >= len(shape) or (kind == "bias" and style == "row"):
        return Weight(name, shape, shape)
    local = tuple(-(-size // tensor) if i == dim else size for i, size in enumerate(shape))
    return Weight(name, shape, local)
