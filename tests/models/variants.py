"""Small models of every family and variant, described as Hugging Face's config.json does."""

from __future__ import annotations

from typing import Any

import torch

SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}
GPT2 = {"vocab_size": 96, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}
LLAMA3 = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LLAMA3 |= {"rope_type": "llama3", "original_max_position_embeddings": 32, "rope_theta": 50.0}
YARN = {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 20}
YARN |= {"rope_theta": 10000.0}
WINDOW = {"use_sliding_window": True, "sliding_window": 7}
VARIANTS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", **SIZES},
    "llama_tied_no_groups": SIZES
    | {"model_type": "llama", "num_key_value_heads": 4, "tie_word_embeddings": True},
    "llama_biases": {"model_type": "llama", **SIZES, "attention_bias": True, "mlp_bias": True},
    "llama_linear": {"model_type": "llama", **SIZES}
    | {"rope_parameters": {"rope_type": "linear", "factor": 3.0, "rope_theta": 500.0}},
    "llama_dynamic": {"model_type": "llama", **SIZES}
    | {"rope_parameters": {"rope_type": "dynamic", "factor": 4.0, "rope_theta": 10000.0}},
    "llama_llama3": {"model_type": "llama", **SIZES, "rope_parameters": LLAMA3},
    "llama_yarn": {"model_type": "llama", **SIZES, "rope_parameters": YARN},
    "mistral": {"model_type": "mistral", **SIZES, "sliding_window": None, "head_dim": 6},
    "mistral_window": {"model_type": "mistral", **SIZES, "sliding_window": 7},
    "qwen2": {"model_type": "qwen2", **SIZES, "tie_word_embeddings": True},
    "qwen2_window": {"model_type": "qwen2", **SIZES, **WINDOW, "max_window_layers": 1},
    "qwen3": {"model_type": "qwen3", **SIZES, "head_dim": 12, "tie_word_embeddings": True},
    "qwen3_window_biases": {"model_type": "qwen3", **SIZES, **WINDOW, "head_dim": 12}
    | {"max_window_layers": 2, "attention_bias": True},
    "gpt2": {"model_type": "gpt2", **GPT2},
    "gpt2_untied_exact_gelu": {"model_type": "gpt2", **GPT2, "n_inner": 40}
    | {"tie_word_embeddings": False, "activation_function": "gelu"},
}


@torch.no_grad()
def spread(module: Any, seed: int = 0) -> Any:
    """`module` in evaluation mode, each parameter drawn around its kind's usual value."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        middle = 1.0 if "norm" in name or ".ln_" in name else 0.0
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.copy_(middle * (not name.endswith("bias")) + 0.2 * noise)
    return module.eval()
