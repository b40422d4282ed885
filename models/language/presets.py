"""Sizes of the language family, by name. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from models.language.config import ARCHITECTURES, LanguageConfig, RopeScaling
from seamount.core.errors import UserError
from seamount.core.registry import unknown

__all__ = ["PRESETS", "LanguageConfig", "configure"]

_LLAMA_3_2 = RopeScaling("llama3", 32.0, 8192, low_freq_factor=1.0, high_freq_factor=4.0)
# vocabulary, hidden, intermediate, layers, heads, kv_heads, head_dim, context
PRESETS: dict[str, LanguageConfig] = {
    # own sizes
    "tiny": LanguageConfig(512, 32, 96, 2, 4, 2, 8, 64),
    "1m": LanguageConfig(2048, 128, 352, 3, 4, 2, 32, 512),
    "2m": LanguageConfig(4096, 192, 512, 2, 3, 1, 64, 512),
    "5m": LanguageConfig(4096, 256, 704, 5, 8, 4, 32, 512),
    "125m": LanguageConfig(32000, 768, 2048, 12, 12, 12, 64, 2048),
    # Sizes that others have published: trained from scratch they start as theirs did.
    # Llama 3.2 1B, Llama 2 7B and 70B: Meta's model cards
    "1b": LanguageConfig(
        *(128256, 2048, 8192, 16, 32, 8, 64, 131072),
        rope_theta=500000.0,
        rope_scaling=_LLAMA_3_2,
        tied=True,
        initialisation="normal",
    ),
    "7b": LanguageConfig(32000, 4096, 11008, 32, 32, 32, 128, 4096, initialisation="normal"),
    "70b": LanguageConfig(32000, 8192, 28672, 80, 64, 8, 128, 4096, initialisation="normal"),
    # Radford et al. 2019, the smallest
    "gpt2": LanguageConfig(
        *(50257, 768, 3072, 12, 12, 12, 64, 1024),
        architecture="gpt2",
        position="learned",
        norm="layer",
        mlp="gelu_tanh",
        qkv_bias=True,
        output_bias=True,
        mlp_bias=True,
        tied=True,
        initialisation="normal",
    ),
    # Jiang et al. 2023: v0.1, with the window of that paper
    "mistral-7b": LanguageConfig(
        *(32000, 4096, 14336, 32, 32, 8, 128, 32768),
        architecture="mistral",
        sliding_window=4096,
        initialisation="normal",
    ),
    # Qwen2.5 and Qwen3 technical reports
    "qwen2.5-0.5b": LanguageConfig(
        *(151936, 896, 4864, 24, 14, 2, 64, 32768),
        architecture="qwen2",
        qkv_bias=True,
        rope_theta=1000000.0,
        norm_eps=1e-6,
        tied=True,
        initialisation="normal",
    ),
    "qwen3-0.6b": LanguageConfig(
        *(151936, 1024, 3072, 28, 16, 8, 128, 40960),
        architecture="qwen3",
        qk_norm=True,
        rope_theta=1000000.0,
        norm_eps=1e-6,
        tied=True,
        initialisation="normal",
    ),
}


def configure(preset: str, **overrides: Any) -> LanguageConfig:
    """The preset called `preset` with `overrides` on top.

    Another `architecture` brings what it fixes, so that it is enough to name it. Raises UserError
    naming the nearest known preset, or the value that makes no model.
    """
    if preset not in PRESETS:
        raise unknown("value of model.preset", preset, sorted(PRESETS))
    base = PRESETS[preset]
    overrides = _fixed_by_architecture(base, overrides) | overrides
    if "head_dim" not in overrides and overrides.keys() & {"hidden_size", "heads"}:
        width, heads = (overrides.get(k, getattr(base, k)) for k in ("hidden_size", "heads"))
        if heads <= 0 or width % heads:
            raise UserError(
                f"model.hidden_size {width} is not a multiple of model.heads {heads}: "
                "change one of them, or give model.head_dim"
            )
        overrides["head_dim"] = width // heads
    return replace(base, **overrides)


def _fixed_by_architecture(base: LanguageConfig, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What changes with the architecture, where that is not the preset's own."""
    name = overrides.get("architecture", base.architecture)
    if name == base.architecture:
        return {}
    if name not in ARCHITECTURES:
        raise unknown("value of model.architecture", name, sorted(ARCHITECTURES))
    fixed = {key: allowed[0] for key, allowed in ARCHITECTURES[name].items()}
    fixed |= {"sliding_window": None, "sliding_from_layer": 0}
    if name != "llama":
        fixed["initialisation"] = "normal"
    if name == "gpt2":
        heads = overrides.get("heads", base.heads)
        fixed |= {"kv_heads": heads, "tied": True, "rope_scaling": None}
    return fixed
