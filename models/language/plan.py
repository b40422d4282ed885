"""How the language model is cut over ranks, as data; seamount/training/tensor.py applies it.

Styles: "embedding" cuts the vocabulary rows and sums the parts, "column" cuts outputs (and their
biases), "row" cuts inputs and sums the parts (its bias is whole on every rank and added once),
"head" cuts the vocabulary and leaves the logits cut for a parallel loss. "heads" is a norm of each
head by itself: its weight is whole, but a rank norms its own heads, so gradients are summed.
Whatever is not named is held whole by every rank and gets the same gradient there: norms of the
residual stream with their biases, learned positions. Source: Shoeybi et al. 2019, Megatron-LM.
"""

from __future__ import annotations

from typing import Any

from models.language.config import LanguageConfig

TENSOR_PLAN: dict[str, str] = {
    "embedding": "embedding",
    "layers.*.attention.query": "column",
    "layers.*.attention.key": "column",
    "layers.*.attention.value": "column",
    "layers.*.attention.query_norm": "heads",
    "layers.*.attention.key_norm": "heads",
    "layers.*.attention.output": "row",
    "layers.*.mlp.gate": "column",
    "layers.*.mlp.up": "column",
    "layers.*.mlp.down": "row",
    "head": "head",
}
_QK_NORMS = ("layers.*.attention.query_norm", "layers.*.attention.key_norm")

# Fields of the configuration that the tensor degree must divide.
TENSOR_DIVIDES: tuple[str, ...] = ("heads", "kv_heads", "intermediate_size", "vocab_size")


def tensor_plan(config: LanguageConfig) -> dict[str, str]:
    """The entries of TENSOR_PLAN that a model of `config` has."""
    absent = set(() if config.qk_norm else _QK_NORMS)
    if config.mlp != "swiglu":
        absent.add("layers.*.mlp.gate")
    return {name: style for name, style in TENSOR_PLAN.items() if name not in absent}


def retie(model: Any) -> None:
    """Share embedding and head again after the plan gave each its own sharded parameter."""
    model.tie()
