"""The shape of a decoder of this family: `LanguageConfig`, and what each architecture fixes.

Imports no torch: recipes are checked and predicted from these fields alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from seamount.core.errors import UserError
from seamount.core.registry import unknown

# Fields an architecture fixes, with the values its config.json can say; the first is the usual one.
_NO, _YES, _EITHER = (False,), (True,), (False, True)
_ROPE: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {"position": ("rope",), "norm": ("rms",), "mlp": ("swiglu",)}
    | {"qkv_bias": _NO, "output_bias": _NO, "mlp_bias": _NO, "qk_norm": _NO}
)
ARCHITECTURES: Mapping[str, Mapping[str, tuple[Any, ...]]] = MappingProxyType(
    {
        "llama": {**_ROPE, "qkv_bias": _EITHER, "output_bias": _EITHER, "mlp_bias": _EITHER},
        "mistral": _ROPE,
        "qwen2": {**_ROPE, "qkv_bias": _YES},
        "qwen3": {**_ROPE, "qkv_bias": _EITHER, "output_bias": _EITHER, "qk_norm": _YES},
        "gpt2": {"position": ("learned",), "norm": ("layer",), "mlp": ("gelu_tanh", "gelu")}
        | {"qkv_bias": _YES, "output_bias": _YES, "mlp_bias": _YES, "qk_norm": _NO},
    }
)
WINDOWED = ("mistral", "qwen2", "qwen3")
# What each kind of rope scaling reads besides its factor.
ROPE_SCALING_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "linear": (),
        "dynamic": (),
        "llama3": ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"),
        "yarn": (
            *("original_max_position_embeddings", "attention_factor"),
            *("beta_fast", "beta_slow", "truncate"),
        ),
    }
)


@dataclass(frozen=True)
class RopeScaling:
    """How rotary positions are stretched beyond the length they were trained on.

    Names and meaning are transformers' (`rope_parameters`); models/language/positions.py computes
    them. None: not given, the default of that kind.
    """

    rope_type: Literal["linear", "dynamic", "llama3", "yarn"]
    factor: float
    original_max_position_embeddings: int | None = None
    low_freq_factor: float | None = None
    high_freq_factor: float | None = None
    attention_factor: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    truncate: bool | None = None

    def __post_init__(self) -> None:
        if self.rope_type not in ROPE_SCALING_KEYS:
            raise unknown("value of rope_type", self.rope_type, sorted(ROPE_SCALING_KEYS))
        if not self.factor >= 1:
            raise UserError(f"factor of rope scaling is {self.factor!r}: it must be at least 1")
        given = {k for k, v in vars(self).items() if v is not None} - {"rope_type", "factor"}
        reads = ROPE_SCALING_KEYS[self.rope_type]
        for key in sorted(given.difference(reads)):
            raise UserError(
                f"rope scaling {self.rope_type!r} does not read {key}: leave it out "
                f"(it reads {', '.join(('factor', *reads))})"
            )
        for key in reads:
            if key not in given and (self.rope_type == "llama3" or key == reads[0]):
                raise UserError(f"rope scaling {self.rope_type!r} needs {key}: give it a value")


@dataclass(frozen=True)
class LanguageConfig:
    """Shape of a decoder.

    `architecture` is Hugging Face's model_type, under which the model is written; it fixes some of
    the other fields (`ARCHITECTURES`). `kv_heads` < `heads` is grouped-query attention.
    `context_length` is the longest input in tokens. `tied` shares the embedding with the output
    head. With `sliding_window` w a position sees itself and the w - 1 before it, in layers from
    `sliding_from_layer` on. `initialisation` says how training fills the weights (model.py).
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
    architecture: Literal["llama", "mistral", "qwen2", "qwen3", "gpt2"] = "llama"
    position: Literal["rope", "learned"] = "rope"
    rope_scaling: RopeScaling | None = None
    norm: Literal["rms", "layer"] = "rms"
    mlp: Literal["swiglu", "gelu_tanh", "gelu"] = "swiglu"
    qkv_bias: bool = False
    output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    sliding_window: int | None = None
    sliding_from_layer: int = 0
    # files of others do not tell it, so it is no part of what makes two models alike
    initialisation: Literal["zero_output", "normal"] = field(default="zero_output", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.rope_scaling, Mapping):  # as a checkpoint's manifest has it
            object.__setattr__(self, "rope_scaling", RopeScaling(**self.rope_scaling))
        _check_numbers(self)
        _check_architecture(self)

    @property
    def parameters(self) -> int:
        """Number of trainable scalars."""
        width, query, key = self.hidden_size, self.heads * self.head_dim, self.kv_heads
        key *= self.head_dim
        attention = 2 * width * (query + key) + 2 * self.head_dim * self.qk_norm
        attention += (query + 2 * key) * self.qkv_bias + width * self.output_bias
        inner = 2 if self.mlp == "swiglu" else 1
        mlp = (inner + 1) * width * self.intermediate_size
        mlp += (inner * self.intermediate_size + width) * self.mlp_bias
        norms = (2 * self.layers + 1) * width * (2 if self.norm == "layer" else 1)
        embeddings = self.vocab_size * width * (1 if self.tied else 2)
        return self.layers * (attention + mlp) + embeddings + norms + self.position_parameters

    @property
    def position_parameters(self) -> int:
        """Scalars of the table of learned positions: looked up, not multiplied."""
        return self.context_length * self.hidden_size if self.position == "learned" else 0

    def window(self, layer: int) -> int | None:
        """How many positions layer `layer` sees at most, None where that is all of them."""
        window = self.sliding_window
        if window is None or window >= self.context_length or layer < self.sliding_from_layer:
            return None
        return window

    def attended(self, tokens: int) -> int:
        """Positions within reach of one token in `tokens`, summed over layers."""
        return sum(min(tokens, self.window(i) or tokens) for i in range(self.layers))


_POSITIVE = (
    *("vocab_size", "hidden_size", "intermediate_size", "layers", "heads", "kv_heads"),
    *("head_dim", "context_length", "rope_theta", "norm_eps", "sliding_window"),
)


def _check_numbers(config: LanguageConfig) -> None:
    for name in _POSITIVE:
        value = getattr(config, name)
        if value is not None and not value > 0:
            raise UserError(f"model.{name} is {value!r}: it must be above 0")
    if config.sliding_from_layer < 0:
        raise UserError(f"model.sliding_from_layer is {config.sliding_from_layer}: 0 is the first")
    if config.heads % config.kv_heads:
        raise UserError(
            f"model.heads {config.heads} is not a multiple of model.kv_heads {config.kv_heads}: "
            "change one of them"
        )
    if config.position == "rope" and config.head_dim % 2:
        raise UserError(
            f"model.head_dim {config.head_dim} is odd, but rotary positions need an even one"
        )


def _check_architecture(config: LanguageConfig) -> None:
    name = config.architecture
    if name not in ARCHITECTURES:
        raise unknown("value of model.architecture", name, sorted(ARCHITECTURES))
    for key, allowed in ARCHITECTURES[name].items():
        value = getattr(config, key)
        if value not in allowed:
            others = [a for a, table in ARCHITECTURES.items() if value in table[key]]
            raise UserError(
                f"model.{key} is {value!r}, which architecture {name!r} does not have: choose "
                f"{' or '.join(map(repr, allowed))}"
                + (f", or model.architecture {' or '.join(others)}" if others else "")
            )
    if name in ("llama", "qwen3") and config.qkv_bias != config.output_bias:
        raise UserError(
            f"model.qkv_bias is {config.qkv_bias} and model.output_bias {config.output_bias}: "
            f"architecture {name!r} has both or neither"
        )
    _check_window(config)
    _check_widths(config)


def _check_window(config: LanguageConfig) -> None:
    name = config.architecture
    if config.sliding_window is not None and name not in WINDOWED:
        raise UserError(
            f"model.sliding_window is {config.sliding_window}, which architecture {name!r} does "
            f"not have: leave it out, or choose model.architecture {' or '.join(WINDOWED)}"
        )
    if config.sliding_from_layer and (config.sliding_window is None or name == "mistral"):
        raise UserError(
            f"model.sliding_from_layer is {config.sliding_from_layer}: it needs a "
            "model.sliding_window and architecture qwen2 or qwen3"
        )
    if config.sliding_from_layer >= config.layers:
        raise UserError(
            f"model.sliding_from_layer is {config.sliding_from_layer}, but there are only "
            f"{config.layers} layers: lower it, or leave model.sliding_window out"
        )


def _check_widths(config: LanguageConfig) -> None:
    """Shapes that the architecture's own code in transformers refuses."""
    whole = config.heads * config.head_dim
    if config.architecture == "llama" and config.hidden_size % config.heads:
        raise UserError(
            f"model.hidden_size {config.hidden_size} is not a multiple of model.heads "
            f"{config.heads}, as architecture 'llama' needs: change one of them"
        )
    if config.architecture != "gpt2":
        return
    if config.kv_heads != config.heads or whole != config.hidden_size or config.rope_scaling:
        raise UserError(
            f"architecture 'gpt2' has model.kv_heads equal to model.heads, model.head_dim times "
            f"that equal to model.hidden_size and no model.rope_scaling, but they are "
            f"{config.kv_heads}, {config.heads}, {config.head_dim}, {config.hidden_size} and "
            f"{config.rope_scaling}"
        )
