"""A Llama-style decoder for one device: RMSNorm, rotary positions, grouped queries, SwiGLU.

It knows nothing of layouts: plan.py says how it is cut. Parameter names are stable ("layers.7."
stays "layers.7." in any pipeline stage, since the layers stand in a dict).

Shape suffixes:
    B  batch                 T  tokens in          D  hidden size
    H  query heads           K  key/value heads    E  head dim
    F  feed-forward size     V  vocabulary
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.language.kernels import RMSNormGradient
from models.language.presets import LanguageConfig


def rotary_tables(config: LanguageConfig) -> tuple[Tensor, Tensor]:
    """Cosines and sines [context, E] of rotary positions, halves side by side.

    Source: Su et al. 2021, RoFormer, in the half-split layout of Hugging Face's Llama.
    """
    exponent = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    frequency = 1.0 / config.rope_theta**exponent
    position = torch.arange(config.context_length, dtype=torch.float32)
    angle = torch.outer(position, frequency).repeat(1, 2)
    return angle.cos(), angle.sin()


def rotate(x_BHTE: Tensor, cos_TE: Tensor, sin_TE: Tensor) -> Tensor:
    """Turn each pair (i, i + E/2) of `x_BHTE` by its position's angle."""
    first, second = x_BHTE.chunk(2, dim=-1)
    return x_BHTE * cos_TE + torch.cat((-second, first), dim=-1) * sin_TE


class RMSNorm(nn.Module):
    """x / rms(x) * weight (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Norm each position; in training by the kernel with the cheaper gradient."""
        if self.training:
            return RMSNormGradient.apply(x_BTD, self.weight, self.eps)
        return functional.rms_norm(x_BTD, self.weight.shape, self.weight, self.eps)


class Attention(nn.Module):
    """Causal self-attention with grouped queries.

    Head counts are read from the projections' widths, so that a tensor-parallel rank, which holds
    some of the heads, runs the same code.
    """

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.head_dim = config.head_dim
        self.grouped = config.heads != config.kv_heads  # a constant: tracing must not see shapes
        query_width = config.heads * config.head_dim
        kv_width = config.kv_heads * config.head_dim
        self.query = nn.Linear(config.hidden_size, query_width, bias=False)
        self.key = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.value = nn.Linear(config.hidden_size, kv_width, bias=False)
        self.output = nn.Linear(query_width, config.hidden_size, bias=False)

    def heads(self, x_BTD: Tensor) -> Tensor:
        """Split the last dim into heads: [B, heads, T, E]."""
        return x_BTD.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def forward(
        self, x_BTD: Tensor, cos_TE: Tensor, sin_TE: Tensor, mask_B1TT: Tensor | None
    ) -> Tensor:
        """Attend to this and earlier positions, within `mask_B1TT` where given."""
        query_BHTE = self.heads(self.query(x_BTD))
        key_BKTE = self.heads(self.key(x_BTD))
        value_BKTE = self.heads(self.value(x_BTD))
        tokens = query_BHTE.shape[2]
        cos_TE, sin_TE = cos_TE[:tokens], sin_TE[:tokens]
        query_BHTE, key_BKTE = rotate(query_BHTE, cos_TE, sin_TE), rotate(key_BKTE, cos_TE, sin_TE)
        y_BHTE = functional.scaled_dot_product_attention(
            query_BHTE,
            key_BKTE,
            value_BKTE,
            attn_mask=mask_B1TT,
            is_causal=mask_B1TT is None,
            enable_gqa=self.grouped,
        )
        return self.output(y_BHTE.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """SwiGLU (Shazeer 2020): down(silu(gate(x)) * up(x))."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.gate = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Map each position by itself."""
        return self.down(functional.silu(self.gate(x_BTD)) * self.up(x_BTD))


class Block(nn.Module):
    """Attention and feed-forward, each on a normed copy of the residual stream."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.attention = Attention(config)
        self.mlp_norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.mlp = FeedForward(config)

    def forward(
        self, x_BTD: Tensor, cos_TE: Tensor, sin_TE: Tensor, mask_B1TT: Tensor | None
    ) -> Tensor:
        """Add both branches to the residual stream."""
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), cos_TE, sin_TE, mask_B1TT)
        return x_BTD + self.mlp(self.mlp_norm(x_BTD))


def document_mask(document_ids_BT: Tensor) -> Tensor:
    """True [B, 1, T, T] where a position may look: earlier, and in the same document."""
    same_BTT = document_ids_BT[:, :, None] == document_ids_BT[:, None, :]
    return same_BTT.tril()[:, None]


class LanguageModel(nn.Module):
    """Token ids in, next-token logits out."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleDict({str(i): Block(config) for i in range(config.layers)})
        self.norm = RMSNorm(config.hidden_size, config.norm_eps)
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.cos: Tensor
        self.sin: Tensor
        cos, sin = rotary_tables(config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.tie()

    def tie(self) -> None:
        """Make head and embedding one parameter again, if the configuration says so."""
        if self.config.tied and self.head is not None and self.embedding is not None:
            self.head.weight = self.embedding.weight

    def forward(self, ids_BT: Tensor, document_ids_BT: Tensor | None = None) -> Tensor:
        """Logits [B, T, V]; with `document_ids_BT` no position sees another document.

        Positions count from the start of the row. T is at most `config.context_length`. A stage of
        a pipeline (plan.keep_stage) takes and gives the residual stream [B, T, D] where it has no
        embedding, or no head.
        """
        mask_B1TT = None if document_ids_BT is None else document_mask(document_ids_BT)
        x_BTD = ids_BT if self.embedding is None else self.embedding(ids_BT)
        for block in self.layers.values():
            x_BTD = block(x_BTD, self.cos, self.sin, mask_B1TT)
        return x_BTD if self.head is None else self.head(self.norm(x_BTD))


def initialise(model: LanguageModel, seed: int, embedding_std: float = 0.02) -> None:
    """Fill every parameter from `seed` alone.

    Matrices get std 1/sqrt(inputs) and the two that write to the residual stream start at 0
    (each block starts as the identity); an untied head starts at 0 as well, so that the first
    predictions are uniform.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            nn.init.ones_(parameter)
        elif name == "embedding.weight":
            nn.init.normal_(parameter, std=embedding_std, generator=generator)
        elif name.endswith((".output.weight", ".down.weight")) or name == "head.weight":
            nn.init.zeros_(parameter)
        else:
            std = parameter.shape[1] ** -0.5
            nn.init.normal_(parameter, std=std, generator=generator)
