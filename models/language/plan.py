"""How the language model is cut over ranks, as data; seamount/training/tensor.py applies it.

Styles: "embedding" cuts the vocabulary rows and sums the parts, "column" cuts outputs and their
biases, "row" cuts inputs and sums the parts (its bias is whole on every rank and added once),
"head" cuts the vocabulary and leaves the logits cut for a parallel loss; a "branch" is given its
whole input, of which its columns make one gradient; "positions" keeps a rank's own where the
stream is cut along them. Whatever is not named is held whole by every rank. Source: Shoeybi et al.
2019, Megatron-LM.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from models.language.config import LanguageConfig

TENSOR_PLAN: dict[str, str] = {
    "embedding": "embedding",
    "positions": "positions",
    "layers.*.attention": "branch",
    "layers.*.attention.query": "column",
    "layers.*.attention.key": "column",
    "layers.*.attention.value": "column",
    "layers.*.attention.output": "row",
    "layers.*.mlp": "branch",
    "layers.*.mlp.gate": "column",
    "layers.*.mlp.up": "column",
    "layers.*.mlp.down": "row",
    "head": "head",
}
# Weights held whole that act on a rank's own heads: each rank has a share of their gradient.
TENSOR_PARTIAL: tuple[str, ...] = (
    "layers.*.attention.query_norm.weight",
    "layers.*.attention.key_norm.weight",
)

# Fields of the configuration that the tensor degree must divide, and those it cuts unevenly too.
TENSOR_DIVIDES: tuple[str, ...] = ("heads", "kv_heads", "intermediate_size")
TENSOR_CUTS: tuple[str, ...] = ("vocab_size",)


def tensor_plan(config: LanguageConfig) -> dict[str, str]:
    """The entries of TENSOR_PLAN that a model of `config` has."""
    absent = set()
    if config.mlp != "swiglu":
        absent.add("layers.*.mlp.gate")
    if config.position != "learned":
        absent.add("positions")
    return {name: style for name, style in TENSOR_PLAN.items() if name not in absent}


def retie(model: Any) -> None:
    """Share embedding and head again after the plan gave each its own sharded parameter."""
    model.tie()


# A pipeline's first and last stage hold one copy each of a tied matrix, under these two names.
TIED: tuple[str, str] = ("embedding.weight", "head.weight")


def keep_stage(model: Any, layers: Collection[int], first: bool, last: bool) -> None:
    """Leave of `model` what one stage of a pipeline holds: some layers, and the ends they touch."""
    for name in list(model.layers):
        if int(name) not in layers:
            del model.layers[name]
    if not first:
        model.embedding = model.positions = None
    if not last:
        model.norm = model.head = None
