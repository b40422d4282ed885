"""config.json of Llama, Mistral, Qwen2, Qwen3 and GPT-2, both ways.

A key that would change the arithmetic, or that is not known, is refused by its name: nothing is
passed over in silence. Where a file leaves a key out, transformers' own default holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from models.language.config import ARCHITECTURES, LanguageConfig, RopeScaling
from seamount.core.errors import CorruptData, UserError

# Our field -> their key.
_ROPE_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "vocab_size": "vocab_size",
        "hidden_size": "hidden_size",
        "intermediate_size": "intermediate_size",
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads",
        "head_dim": "head_dim",
        "context_length": "max_position_embeddings",
        "norm_eps": "rms_norm_eps",
        "tied": "tie_word_embeddings",
    }
)
_GPT2_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "vocab_size": "vocab_size",
        "hidden_size": "n_embd",
        "intermediate_size": "n_inner",
        "layers": "n_layer",
        "heads": "n_head",
        "context_length": "n_positions",
        "norm_eps": "layer_norm_epsilon",
        "tied": "tie_word_embeddings",
    }
)
# transformers' values of keys that a file may leave out (its configuration classes, 5.24).
_ROPE_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {"rms_norm_eps": 1e-6, "tie_word_embeddings": False, "num_key_value_heads": None}
    | {"head_dim": None, "sliding_window": 4096, "use_sliding_window": False}
    | {"max_window_layers": 28, "layer_types": None, "attention_bias": False, "mlp_bias": False}
)
DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "llama": {**_ROPE_DEFAULTS, "max_position_embeddings": 2048},
        "mistral": {**_ROPE_DEFAULTS, "max_position_embeddings": 131072, "num_key_value_heads": 8},
        "qwen2": {**_ROPE_DEFAULTS, "max_position_embeddings": 32768, "num_key_value_heads": 32},
        "qwen3": {**_ROPE_DEFAULTS, "max_position_embeddings": 32768, "num_key_value_heads": 32}
        | {"head_dim": 128},
        "gpt2": {"n_positions": 1024, "n_inner": None, "layer_norm_epsilon": 1e-5}
        | {"tie_word_embeddings": True, "activation_function": "gelu_new"},
    }
)
_ROPE_KEYS = {*_ROPE_NAMES.values(), "rope_theta", "rope_scaling", "rope_parameters"}
_QWEN_KEYS = {*_ROPE_KEYS, "use_sliding_window", "sliding_window", "max_window_layers"}
_READ: Mapping[str, set[str]] = MappingProxyType(
    {
        "llama": {*_ROPE_KEYS, "attention_bias", "mlp_bias"},
        "mistral": {*_ROPE_KEYS, "sliding_window"},
        "qwen2": {*_QWEN_KEYS, "layer_types"},
        "qwen3": {*_QWEN_KEYS, "layer_types", "attention_bias"},
        "gpt2": {*_GPT2_NAMES.values(), "activation_function"},
    }
)
# Keys that change the arithmetic, with the values under which they do not; the first is written.
_ROPE_ONLY: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"hidden_act": ("silu",), "partial_rotary_factor": (1.0, None), "rope_interleaved": (False,)}
    | {"attention_bias": (False, None), "mlp_bias": (False, None), "sliding_window": (None,)}
    | {"use_sliding_window": (False,)}
)
_GPT2_ONLY: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"scale_attn_weights": (True,), "scale_attn_by_inverse_layer_idx": (False,)}
    | {"reorder_and_upcast_attn": (False,), "add_cross_attention": (False,)}
)
# Keys without a say in the logits: training, tokens, book-keeping.
_SILENT = {
    *("_attn_implementation_autoset", "_name_or_path", "architectures", "attention_dropout"),
    *("attn_pdrop", "bos_token_id", "dtype", "embd_pdrop", "eos_token_id"),
    *("gradient_checkpointing", "id2label", "initializer_range", "is_decoder"),
    *("is_llama_config", "label2id", "model_type", "n_ctx", "output_past", "pad_token_id"),
    *("pretraining_tp", "quantization", "resid_pdrop", "seamount_family", "summary_activation"),
    *("summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"),
    *("task_specific_params", "torch_dtype", "transformers.js_config", "transformers_version"),
    "use_cache",
}
_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu"}


def config_to_hugging_face(config: LanguageConfig) -> dict[str, Any]:
    """The content of config.json for `config`; document ends are token 0."""
    name = config.architecture
    names = _GPT2_NAMES if name == "gpt2" else _ROPE_NAMES
    content = {
        "architectures": [CLASSES[name]],
        "model_type": name,
        **{theirs: getattr(config, ours) for ours, theirs in names.items()},
        "bos_token_id": 0,
        "eos_token_id": 0,
        "dtype": "float32",
    }
    if name == "gpt2":
        activation = "gelu_new" if config.mlp == "gelu_tanh" else "gelu"
        return content | {"activation_function": activation}
    content |= {"hidden_act": "silu"} | _rope_to_hugging_face(config)
    if name in ("llama", "qwen3"):
        content["attention_bias"] = config.qkv_bias
    if name == "llama":
        content["mlp_bias"] = config.mlp_bias
    return content | _window_to_hugging_face(config)


CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "llama": "LlamaForCausalLM",
        "mistral": "MistralForCausalLM",
        "qwen2": "Qwen2ForCausalLM",
        "qwen3": "Qwen3ForCausalLM",
        "gpt2": "GPT2LMHeadModel",
    }
)


def _rope_to_hugging_face(config: LanguageConfig) -> dict[str, Any]:
    """As transformers 5 reads it (rope_parameters), and as earlier ones do."""
    if config.rope_scaling is None:
        parameters = {"rope_type": "default", "rope_theta": config.rope_theta}
        return {"rope_theta": config.rope_theta, "rope_parameters": parameters}
    scaling = {k: v for k, v in vars(config.rope_scaling).items() if v is not None}
    return {
        "rope_theta": config.rope_theta,
        "rope_parameters": {**scaling, "rope_theta": config.rope_theta},
        "rope_scaling": scaling,
    }


def _window_to_hugging_face(config: LanguageConfig) -> dict[str, Any]:
    if config.architecture == "llama":
        return {}
    window = config.sliding_window
    if config.architecture == "mistral":
        return {"sliding_window": window}
    first = config.layers if window is None else config.sliding_from_layer
    return {
        "use_sliding_window": window is not None,
        "sliding_window": window,
        "max_window_layers": first,
        "layer_types": _layer_types(config.layers, first),
    }


def _layer_types(layers: int, first: int) -> list[str]:
    return ["full_attention" if i < first else "sliding_attention" for i in range(layers)]


def config_from_hugging_face(content: Mapping[str, Any]) -> LanguageConfig:
    """The configuration behind a config.json.

    Raises UserError for another model type, or for a key or value that this family does not
    compute; CorruptData where a size is missing or is no number.
    """
    name: Any = content.get("model_type")
    if name not in ARCHITECTURES:
        raise UserError(
            f"model_type {name!r} is not one of {', '.join(map(repr, sorted(ARCHITECTURES)))}, "
            "those that models/language converts"
        )
    _refuse(content, name)
    try:
        values = {**DEFAULTS[name], **content}
        read = _gpt2_fields if name == "gpt2" else _rope_fields
        return LanguageConfig(**_sizes(values, name), **read(values, name), architecture=name)
    except KeyError as error:
        raise CorruptData(f"config.json of a {name} model lacks {error}") from error
    except TypeError as error:
        raise CorruptData(f"config.json holds a value of a wrong type: {error}") from error


def _refuse(content: Mapping[str, Any], name: str) -> None:
    only = _GPT2_ONLY if name == "gpt2" else _ROPE_ONLY
    for key, value in content.items():
        if key in _READ[name] or key in _SILENT:
            continue
        if key not in only:
            raise UserError(f"config.json has {key} {value!r}: a {name} model has no such key here")
        if value not in only[key]:
            raise UserError(f"config.json has {key} {value!r}: only {only[key][0]!r} is known")


def _sizes(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    names = _GPT2_NAMES if name == "gpt2" else _ROPE_NAMES
    sizes = {ours: values[theirs] for ours, theirs in names.items()}
    heads, width = sizes["heads"], sizes["hidden_size"]
    sizes["kv_heads"] = sizes.get("kv_heads") or heads
    sizes["head_dim"] = sizes.get("head_dim") or width // heads
    sizes["intermediate_size"] = sizes["intermediate_size"] or 4 * width
    return sizes


def _gpt2_fields(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    activation = values["activation_function"]
    if activation not in _ACTIVATIONS:
        raise UserError(
            f"config.json has activation_function {activation!r}: only "
            f"{', '.join(map(repr, _ACTIVATIONS))} are known"
        )
    fixed = {"position": "learned", "norm": "layer", "mlp": _ACTIVATIONS[activation]}
    return fixed | dict.fromkeys(("qkv_bias", "output_bias", "mlp_bias"), True)


def _rope_fields(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    bias = bool(values["attention_bias"])
    theta, scaling = _rope(values)
    return {
        "rope_theta": theta,
        "rope_scaling": scaling,
        "qkv_bias": bias or name == "qwen2",
        "output_bias": bias,
        "mlp_bias": bool(values["mlp_bias"]),
        "qk_norm": name == "qwen3",
        **_window(values, name),
    }


def _rope(values: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """Theta and scaling; rope_scaling goes first, and what stands inside goes before the rest."""
    source = "rope_scaling" if values.get("rope_scaling") else "rope_parameters"
    given = dict(values.get(source) or {})
    theta = float(given.pop("rope_theta", None) or values.get("rope_theta") or 10000.0)
    kind = given.pop("rope_type", None) or given.get("type", "default")
    given.pop("type", None)
    if given.pop("partial_rotary_factor", 1.0) != 1.0:
        raise UserError(f"config.json has partial_rotary_factor in {source}: only 1.0 is known")
    known = {field.name for field in fields(RopeScaling)} - {"rope_type"}
    for key in given.keys() - (known if kind != "default" else set()):
        raise UserError(
            f"config.json has {key} {given[key]!r} in {source} of kind {kind!r}, a key that is "
            "not known there"
        )
    if kind == "default":
        return theta, None
    if kind in ("llama3", "yarn"):
        given.setdefault("original_max_position_embeddings", values["max_position_embeddings"])
    if given.get("factor") is None:
        raise UserError(f"config.json has rope scaling {kind!r} without factor: give it one")
    return theta, RopeScaling(kind, **given)


def _window(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    if name == "llama":
        return {}
    if name == "mistral":
        return {"sliding_window": values["sliding_window"]}
    layers = values["num_hidden_layers"]
    window = values["sliding_window"] if values["use_sliding_window"] else None
    first = layers if window is None else min(values["max_window_layers"], layers)
    types = values["layer_types"] or _layer_types(layers, first)
    first = types.index("sliding_attention") if "sliding_attention" in types else layers
    if types != _layer_types(layers, first) or (first < layers and window is None):
        raise UserError(
            f"config.json has layer_types {types!r}: only full attention in the first layers and "
            "the sliding_window of use_sliding_window in all later ones is known"
        )
    if first == layers:
        return {}
    return {"sliding_window": window, "sliding_from_layer": first}
