"""Sizes of the language family: `LanguageConfig` and named presets. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from seamount.core.errors import UserError
from seamount.core.registry import unknown


@dataclass(frozen=True)
class LanguageConfig:
    """Shape of a Llama-style decoder.

    `kv_heads` < `heads` is grouped-query attention. `context_length` is the longest input in
    tokens. `tied` shares the embedding with the output head.
    """

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    context_length: int
    rope_theta: float = 10000.0
    norm_eps: float = 1e-5
    tied: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "tied" and not value > 0:
                raise UserError(f"model.{field.name} is {value!r}: it must be above 0")
        if self.heads % self.kv_heads:
            raise UserError(
                f"model.heads {self.heads} is not a multiple of model.kv_heads {self.kv_heads}: "
                "change one of them"
            )
        if self.head_dim % 2:
            raise UserError(
                f"model.head_dim {self.head_dim} is odd, but rotary positions need an even one"
            )

    @property
    def parameters(self) -> int:
        """Number of trainable scalars."""
        attention = 2 * self.hidden_size * self.head_dim * (self.heads + self.kv_heads)
        mlp = 3 * self.hidden_size * self.intermediate_size
        embeddings = self.vocab_size * self.hidden_size * (1 if self.tied else 2)
        norms = (2 * self.layers + 1) * self.hidden_size
        return self.layers * (attention + mlp) + embeddings + norms


PRESETS: dict[str, LanguageConfig] = {
    "tiny": LanguageConfig(512, 32, 96, 2, 4, 2, 8, 64),
    "1m": LanguageConfig(2048, 128, 352, 3, 4, 2, 32, 512),
    "2m": LanguageConfig(4096, 192, 512, 2, 3, 1, 64, 512),
    "5m": LanguageConfig(4096, 256, 704, 5, 8, 4, 32, 512),
    "125m": LanguageConfig(32000, 768, 2048, 12, 12, 12, 64, 2048),
}


def configure(preset: str, **overrides: Any) -> LanguageConfig:
    """The preset called `preset` with `overrides` on top.

    Raises UserError naming the nearest known preset, or the value that makes no model.
    """
    if preset not in PRESETS:
        raise unknown("value of model.preset", preset, sorted(PRESETS))
    base = PRESETS[preset]
    if "head_dim" not in overrides and overrides.keys() & {"hidden_size", "heads"}:
        width, heads = (overrides.get(k, getattr(base, k)) for k in ("hidden_size", "heads"))
        if heads <= 0 or width % heads:
            raise UserError(
                f"model.hidden_size {width} is not a multiple of model.heads {heads}: "
                "change one of them, or give model.head_dim"
            )
        overrides["head_dim"] = width // heads
    return replace(base, **overrides)
