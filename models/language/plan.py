"""How the language model is cut over ranks, as data; seamount/training/tensor.py applies it.

Styles: "embedding" cuts the vocabulary rows and sums the parts, "column" cuts outputs, "row" cuts
inputs and sums the parts, "head" cuts the vocabulary and leaves the logits cut for a parallel
loss. Whatever is not named is held whole by every rank. Source: Shoeybi et al. 2019, Megatron-LM.
"""

from __future__ import annotations

from typing import Any

TENSOR_PLAN: dict[str, str] = {
    "embedding": "embedding",
    "layers.*.attention.query": "column",
    "layers.*.attention.key": "column",
    "layers.*.attention.value": "column",
    "layers.*.attention.output": "row",
    "layers.*.mlp.gate": "column",
    "layers.*.mlp.up": "column",
    "layers.*.mlp.down": "row",
    "head": "head",
}

# Fields of the configuration that the tensor degree must divide.
TENSOR_DIVIDES: tuple[str, ...] = ("heads", "kv_heads", "intermediate_size", "vocab_size")


def retie(model: Any) -> None:
    """Share embedding and head again after the plan gave each its own sharded parameter."""
    model.tie()
