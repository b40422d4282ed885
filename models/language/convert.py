"""Between this family and Hugging Face's Llama, both ways: configuration, weights, folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from models.language.model import LanguageModel
from models.language.presets import LanguageConfig
from seamount.core import storage
from seamount.core.errors import CorruptData, UserError

_OUTSIDE = {
    "embedding.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "head.weight": "lm_head.weight",
}
_INSIDE = {
    "attention_norm": "input_layernorm",
    "attention.query": "self_attn.q_proj",
    "attention.key": "self_attn.k_proj",
    "attention.value": "self_attn.v_proj",
    "attention.output": "self_attn.o_proj",
    "mlp_norm": "post_attention_layernorm",
    "mlp.gate": "mlp.gate_proj",
    "mlp.up": "mlp.up_proj",
    "mlp.down": "mlp.down_proj",
}
_INSIDE_BACK = {theirs: ours for ours, theirs in _INSIDE.items()}
_OUTSIDE_BACK = {theirs: ours for ours, theirs in _OUTSIDE.items()}
# Settings of a Llama configuration that change the arithmetic and that this family has not.
_UNSUPPORTED = {"attention_bias": (False, None), "mlp_bias": (False, None), "hidden_act": ("silu",)}


def config_to_hugging_face(config: LanguageConfig) -> dict[str, Any]:
    """The content of config.json for `config`; document ends are token 0."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_dim,
        "max_position_embeddings": config.context_length,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_theta},
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": config.tied,
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float32",
    }


def config_from_hugging_face(content: Mapping[str, Any]) -> LanguageConfig:
    """The configuration behind a Llama config.json.

    Raises UserError for another model type or for a setting this family does not compute.
    """
    if content.get("model_type") != "llama":
        raise UserError(
            f"model_type {content.get('model_type')!r} is not 'llama', the one that "
            "models/language converts"
        )
    for key, allowed in _UNSUPPORTED.items():
        if content.get(key, allowed[0]) not in allowed:
            raise UserError(f"config.json has {key} {content[key]!r}: only {allowed[0]!r} is known")
    try:
        heads, width = content["num_attention_heads"], content["hidden_size"]
        return LanguageConfig(
            vocab_size=content["vocab_size"],
            hidden_size=width,
            intermediate_size=content["intermediate_size"],
            layers=content["num_hidden_layers"],
            heads=heads,
            kv_heads=content.get("num_key_value_heads") or heads,
            head_dim=content.get("head_dim") or width // heads,
            context_length=content.get("max_position_embeddings", 2048),
            rope_theta=_rope_theta(content),
            norm_eps=content.get("rms_norm_eps", 1e-6),
            tied=content.get("tie_word_embeddings", False),
        )
    except KeyError as error:
        raise CorruptData(f"config.json of a Llama model lacks {error}") from error


def _rope_theta(content: Mapping[str, Any]) -> float:
    scaling = content.get("rope_parameters") or content.get("rope_scaling") or {}
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind != "default":
        raise UserError(f"config.json has rope scaling {kind!r}: only 'default' is known")
    return float(content.get("rope_theta") or scaling.get("rope_theta") or 10000.0)


def to_hugging_face_name(name: str) -> str:
    """Hugging Face's name of our parameter `name`."""
    if name in _OUTSIDE:
        return _OUTSIDE[name]
    _, index, rest = name.split(".", 2)
    part, kind = rest.rsplit(".", 1)
    return f"model.layers.{index}.{_INSIDE[part]}.{kind}"


def from_hugging_face_name(name: str) -> str | None:
    """Our name of Hugging Face's parameter `name`, None for one this family does not have."""
    if name in _OUTSIDE_BACK:
        return _OUTSIDE_BACK[name]
    found = re.fullmatch(r"model\.layers\.(\d+)\.(.+)\.weight", name)
    if found is None or found[2] not in _INSIDE_BACK:
        return None
    return f"layers.{found[1]}.{_INSIDE_BACK[found[2]]}.weight"


def state_to_hugging_face(state: Mapping[str, Tensor], tied: bool) -> dict[str, Tensor]:
    """Weights under Hugging Face's names; a tied head is left out, as there."""
    return {
        to_hugging_face_name(name): tensor
        for name, tensor in state.items()
        if not (tied and name == "head.weight")
    }


def state_from_hugging_face(state: Mapping[str, Tensor], tied: bool) -> dict[str, Tensor]:
    """Weights under our names; raises CorruptData for a tensor that has no place here."""
    ours: dict[str, Tensor] = {}
    for theirs, tensor in state.items():
        if theirs.endswith("rotary_emb.inv_freq"):
            continue  # older files store this table, which follows from the configuration
        name = from_hugging_face_name(theirs)
        if name is None:
            raise CorruptData(f"weight {theirs!r} has no place in a Llama model")
        ours[name] = tensor
    if tied and "embedding.weight" in ours:
        ours["head.weight"] = ours["embedding.weight"]
    return ours


def save_folder(model: LanguageModel, folder: str) -> None:
    """Write config.json and model.safetensors into `folder` as AutoModelForCausalLM reads them."""
    from safetensors.torch import save

    tied = model.config.tied
    state = {name: p.detach().float() for name, p in model.named_parameters()}
    tensors = {k: v.contiguous() for k, v in state_to_hugging_face(state, tied).items()}
    weights = save(tensors, metadata={"format": "pt"})
    storage.write_bytes(storage.join(folder, "model.safetensors"), weights)
    storage.write_json(storage.join(folder, "config.json"), config_to_hugging_face(model.config))


def load_folder(folder: str) -> LanguageModel:
    """The model in a Hugging Face Llama folder, float32, in evaluation mode.

    Raises UserError for another kind of model, CorruptData for weights that do not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    config = config_from_hugging_face(storage.read_json(storage.join(folder, "config.json")))
    url = storage.join(folder, "model.safetensors")
    try:
        theirs = load(storage.read_bytes(url))
    except SafetensorError as error:
        raise CorruptData(f"{url} is not a safetensors file: {error}") from error
    model = LanguageModel(config)
    state = {k: v.float() for k, v in state_from_hugging_face(theirs, config.tied).items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise CorruptData(f"{url} does not fit its config.json: {error}") from error
    return model.eval()
