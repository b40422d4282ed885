"""Weights under Hugging Face's names and layouts, both ways.

GPT-2 keeps its matrices transposed ([in, out], its Conv1D) and query, key and value in one; here
they are three, since each is cut over ranks by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from models.language.config import LanguageConfig
from seamount.core.errors import CorruptData

_ROPE_OUTSIDE = {"embedding": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}
_ROPE_INSIDE = {
    "attention_norm": "input_layernorm",
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "attention.query_norm": "self_attn.q_norm",
    "attention.key_norm": "self_attn.k_norm",
    "mlp_norm": "post_attention_layernorm",
    "mlp.gate": "mlp.gate_proj",
    "mlp.up": "mlp.up_proj",
    "mlp.down": "mlp.down_proj",
}
_GPT2_OUTSIDE = {
    "embedding": "transformer.wte",
    "positions": "transformer.wpe",
    "norm": "transformer.ln_f",
    "head": "lm_head",
}
_GPT2_INSIDE = {
    "attention_norm": "ln_1",
    "attention.output": "attn.c_proj",
    "mlp_norm": "ln_2",
    "mlp.up": "mlp.c_fc",
    "mlp.down": "mlp.c_proj",
}
_FUSED = ("attention.query", "attention.key", "attention.value")
_FUSED_NAME = "attn.c_attn"
_TRANSPOSED = ("attention.output", "mlp.up", "mlp.down")
# Tables that older files store and that follow from the configuration.
_TABLES = re.compile(r".*(rotary_emb\.inv_freq|\.attn\.bias|\.attn\.masked_bias)")


def state_to_hugging_face(state: Mapping[str, Tensor], config: LanguageConfig) -> dict[str, Tensor]:
    """Weights under Hugging Face's names; a tied head is left out, as there."""
    kept = {k: v for k, v in state.items() if not (config.tied and k == "head.weight")}
    if config.architecture == "gpt2":
        return dict(_to_gpt2(kept))
    return dict(_to_rope(kept))


def state_from_hugging_face(
    state: Mapping[str, Tensor], config: LanguageConfig
) -> dict[str, Tensor]:
    """Weights under our names; raises CorruptData for a tensor that has no place here."""
    kept = {k: v for k, v in state.items() if not _TABLES.fullmatch(k)}
    from_theirs = _from_gpt2 if config.architecture == "gpt2" else _from_rope
    ours = dict(from_theirs(kept))
    if config.tied and "embedding.weight" in ours:
        ours["head.weight"] = ours["embedding.weight"]
    return ours


def _split(name: str) -> tuple[str, str, str]:
    """("7", "mlp.up", "weight") of "layers.7.mlp.up.weight"; no layer outside of them."""
    part, kind = name.rsplit(".", 1)
    if not part.startswith("layers."):
        return "", part, kind
    _, layer, inside = part.split(".", 2)
    return layer, inside, kind


def _to_rope(state: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in state.items():
        layer, part, kind = _split(name)
        if layer:
            yield f"model.layers.{layer}.{_ROPE_INSIDE[part]}.{kind}", tensor
        else:
            yield f"{_ROPE_OUTSIDE[part]}.{kind}", tensor


def _from_rope(state: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    outside = {theirs: ours for ours, theirs in _ROPE_OUTSIDE.items()}
    inside = {theirs: ours for ours, theirs in _ROPE_INSIDE.items()}
    for name, tensor in state.items():
        found = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)", name)
        part, _, kind = name.rpartition(".")
        if found is not None and found[2] in inside:
            yield f"layers.{found[1]}.{inside[found[2]]}.{found[3]}", tensor
        elif part in outside and kind in ("weight", "bias"):
            yield f"{outside[part]}.{kind}", tensor
        else:
            raise _no_place(name)


def _to_gpt2(state: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    for name, tensor in state.items():
        layer, part, kind = _split(name)
        if not layer:
            yield f"{_GPT2_OUTSIDE[part]}.{kind}", tensor
        elif part in _GPT2_INSIDE:
            turned = part in _TRANSPOSED and kind == "weight"
            theirs = f"transformer.h.{layer}.{_GPT2_INSIDE[part]}.{kind}"
            yield theirs, tensor.T if turned else tensor
        elif part == _FUSED[0]:
            parts = [state[f"layers.{layer}.{each}.{kind}"] for each in _FUSED]
            # of the transposed weight the outputs are the last dim, of the bias the only one
            fused = torch.cat([p.T if kind == "weight" else p for p in parts], dim=-1)
            yield f"transformer.h.{layer}.{_FUSED_NAME}.{kind}", fused


def _from_gpt2(state: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    outside = {theirs: ours for ours, theirs in _GPT2_OUTSIDE.items()}
    inside = {theirs: ours for ours, theirs in _GPT2_INSIDE.items()}
    for name, tensor in state.items():
        # files of the bare model leave the prefix out
        full = name if name.startswith(("transformer.", "lm_head.")) else f"transformer.{name}"
        found = re.fullmatch(r"transformer\.h\.(\d+)\.(.+)\.(weight|bias)", full)
        part, _, kind = full.rpartition(".")
        if found is not None and found[2] == _FUSED_NAME:
            for ours, piece in zip(_FUSED, tensor.chunk(3, dim=-1), strict=True):
                yield f"layers.{found[1]}.{ours}.{found[3]}", piece.T if piece.dim() > 1 else piece
        elif found is not None and found[2] in inside:
            ours = inside[found[2]]
            turned = ours in _TRANSPOSED and found[3] == "weight"
            yield f"layers.{found[1]}.{ours}.{found[3]}", tensor.T if turned else tensor
        elif part in outside and kind in ("weight", "bias"):
            yield f"{outside[part]}.{kind}", tensor
        else:
            raise _no_place(name)


def _no_place(name: str) -> CorruptData:
    return CorruptData(f"weight {name!r} has no place in a model of this config.json")
