"""What a forward pass leaves for the backward one, by formula, on the worst tensor rank.

The counting is that of Korthikanti et al. 2022 (arXiv 2205.05198, sections 4.1 to 4.3), over what
this code keeps: an RMSNorm keeps its unit vectors in float32, attention never its scores, a linear
layer its input, SwiGLU three products more. tests/training/prediction holds every term against
what autograd saves.

N = tokens of a micro-batch, P = those that a rank has of the residual stream, D = hidden size,
F = feed-forward size, V = vocabulary, Q and K = widths of queries and of keys, t = tensor degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamount.training.prediction.held import Stage
from seamount.training.recipe import Recipe

_IDS_BYTES = 8
_LOSS_BYTES = 4  # the loss is computed in float32


@dataclass(frozen=True)
class Sizes:
    """The numbers of values and of bytes that the formulas are made of."""

    tokens: int  # N
    positions: int  # P
    ranks: int  # t
    compute: int  # bytes of a value within matrix products
    stream: int  # bytes of a value of the residual stream
    wide: int  # bytes of a value within norms and the loss
    casts: bool  # matrix products cast their inputs, each its own copy


def sizes_of(recipe: Recipe) -> Sizes:
    """The sizes of one micro-batch of `recipe`."""
    parallel = recipe.parallel
    tokens = recipe.micro_batch_size * recipe.data.sequence_length
    mixed = recipe.precision == "bf16-mixed"
    stored = {"fp64": 8, "bf16-true": 2}.get(recipe.precision, 4)
    return Sizes(
        tokens=tokens,
        positions=tokens // parallel.tensor if parallel.sequence else tokens,
        ranks=parallel.tensor,
        compute=2 if mixed else stored,
        stream=stored,
        wide=max(stored, _LOSS_BYTES),
        casts=mixed,
    )


def kept_by_layer(config: Any, sizes: Sizes) -> int:
    """Bytes that one layer keeps of one micro-batch."""
    return _kept_by_attention(config, sizes) + _kept_by_mlp(config, sizes)


def _kept_by_norm(config: Any, sizes: Sizes) -> int:
    if getattr(config, "norm", "rms") == "rms":
        return sizes.positions * (config.hidden_size + 1) * sizes.wide
    return sizes.positions * (config.hidden_size * sizes.stream + 2 * _LOSS_BYTES)


def _kept_inputs(config: Any, sizes: Sizes, readers: int) -> int:
    """Of the normed stream, which `readers` matrices read: one tensor, or a cast of it for each."""
    return sizes.tokens * config.hidden_size * sizes.compute * (readers if sizes.casts else 1)


def _kept_by_attention(config: Any, sizes: Sizes) -> int:
    query, key = config.heads * config.head_dim, config.kv_heads * config.head_dim
    heads = 2 * query + 2 * key  # queries, keys, values, and what attention gave
    values = heads * sizes.compute + config.heads * sizes.wide  # and the sums of its softmax
    if getattr(config, "qk_norm", False):
        values += _kept_by_head_norms(config, sizes)
    inside = sizes.tokens * values // sizes.ranks
    return _kept_by_norm(config, sizes) + _kept_inputs(config, sizes, 3) + inside


def _kept_by_head_norms(config: Any, sizes: Sizes) -> int:
    """Each of torch's own RMSNorms keeps its input and the unit vectors; what attention gave then
    lies by heads, and the output matrix keeps a copy by positions."""
    query, key = config.heads * config.head_dim, config.kv_heads * config.head_dim
    both = 2 * (query + key) + config.heads + config.kv_heads
    return int(both * sizes.wide + query * sizes.compute)


def _kept_by_mlp(config: Any, sizes: Sizes) -> int:
    gated = getattr(config, "mlp", "swiglu") == "swiglu"
    products = (4 if gated else 2) * config.intermediate_size * sizes.compute
    inside = sizes.tokens * products // sizes.ranks
    return _kept_by_norm(config, sizes) + _kept_inputs(config, sizes, 2 if gated else 1) + inside


def kept_by_head(config: Any, sizes: Sizes) -> int:
    """Bytes kept from the last norm to the loss: its softmax is the largest tensor of a model."""
    softmax = sizes.tokens * config.vocab_size * sizes.wide // sizes.ranks
    norm = _kept_by_norm(config, sizes) if hasattr(config, "norm") else 0
    return norm + _kept_inputs(config, sizes, 1) + softmax


def kept(config: Any, sizes: Sizes, stage: Stage) -> int:
    """Bytes that `stage` keeps of one micro-batch."""
    found = len(stage.layers) * kept_by_layer(config, sizes) if stage.layers else 0
    found += sizes.tokens * _IDS_BYTES if stage.first else 0
    return found + (kept_by_head(config, sizes) if stage.last else 0)


def casts(recipe: Recipe, weights: int) -> int:
    """Bytes of the bfloat16 copies of `weights` matrix scalars that mixed precision keeps."""
    return 2 * weights if recipe.precision == "bf16-mixed" else 0


def stream_bytes(config: Any, sizes: Sizes) -> int:
    """Bytes of a rank's residual stream: what one stage hands to the next."""
    return int(sizes.positions * config.hidden_size * sizes.stream)


def output_bytes(config: Any, sizes: Sizes, stage: Stage) -> int:
    """Bytes of what `stage` gives, logits on the last one."""
    if not stage.last:
        return stream_bytes(config, sizes)
    return int(sizes.tokens * config.vocab_size * sizes.compute // sizes.ranks)


def passing(config: Any, sizes: Sizes, stage: Stage) -> int:
    """Bytes of tensors that live for a moment where most is held.

    On the last stage these are the logits beside their softmax (under bfloat16 their float32 copy
    too; where the vocabulary is cut, torch's loss makes three tensors of that size), within a layer
    the gradients of its products and of the stream.
    """
    layer = 0
    if stage.layers:
        inner = 3 * config.intermediate_size * sizes.compute // sizes.ranks
        layer = sizes.tokens * inner + 2 * sizes.positions * config.hidden_size * sizes.wide
    if not stage.last:
        return layer
    copies = sizes.compute + (sizes.wide if sizes.compute < sizes.wide else 0)
    copies = 3 * sizes.wide if sizes.ranks > 1 else copies
    return max(layer, sizes.tokens * config.vocab_size * copies // sizes.ranks)
