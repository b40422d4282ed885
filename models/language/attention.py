"""Causal self-attention with grouped queries, and who sees whom. Shape suffixes as in model.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.language.cache import KeyValueCache
from models.language.config import LanguageConfig
from models.language.positions import rotate


class Context:
    """What the layers of one forward pass share: rotary tables, masks, the cache.

    `tables` are cosines and sines [context, E], None where positions are learned; `past` tokens
    lie before these. How many these are, a layer tells, since a rank may hold a part of the rows.
    """

    def __init__(
        self,
        tables: tuple[Tensor, Tensor] | None,
        past: int,
        document_ids_BT: Tensor | None,
        cache: KeyValueCache | None,
    ) -> None:
        self.tables, self.past = tables, past
        self.document_ids_BT, self.cache = document_ids_BT, cache
        self.masks: dict[int | None, Tensor | None] = {}

    def turned(self, x_BHTE: Tensor) -> Tensor:
        """Queries or keys, turned by their positions where those are rotary."""
        if self.tables is None:
            return x_BHTE
        stop = self.past + x_BHTE.shape[2]
        cos_CE, sin_CE = self.tables
        return rotate(x_BHTE, cos_CE[self.past : stop], sin_CE[self.past : stop])

    def mask(self, window: int | None, like_BHTE: Tensor) -> Tensor | None:
        """The mask of a layer with `window`; None where plain causal attention says the same."""
        if window not in self.masks:
            tokens, device = like_BHTE.shape[2], like_BHTE.device
            self.masks[window] = mask_for(tokens, self.past, window, self.document_ids_BT, device)
        return self.masks[window]


class Attention(nn.Module):
    """Attention of one layer.

    Head counts are read from the projections' widths, so that a tensor-parallel rank, which holds
    some of the heads, runs the same code. `query_norm` and `key_norm` work on each head by itself
    (Qwen3); a rank's share of their gradient is that of its heads, see plan.py.
    """

    def __init__(self, config: LanguageConfig, layer: int) -> None:
        super().__init__()
        self.layer = layer
        self.window = config.window(layer)
        self.head_dim = config.head_dim
        self.grouped = config.heads != config.kv_heads  # a constant: tracing must not see shapes
        width, query_width = config.hidden_size, config.heads * config.head_dim
        kv_width = config.kv_heads * config.head_dim
        self.query = nn.Linear(width, query_width, bias=config.qkv_bias)
        self.key = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.value = nn.Linear(width, kv_width, bias=config.qkv_bias)
        self.output = nn.Linear(query_width, width, bias=config.output_bias)
        if config.qk_norm:
            self.query_norm = nn.RMSNorm(config.head_dim, config.norm_eps)
            self.key_norm = nn.RMSNorm(config.head_dim, config.norm_eps)
        self.qk_norm = config.qk_norm

    def heads(self, x_BTD: Tensor) -> Tensor:
        """Split the last dim into heads: [B, heads, T, E]."""
        return x_BTD.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def forward(self, x_BTD: Tensor, context: Context) -> Tensor:
        """Attend to this and earlier positions, those in the cache included."""
        query_BHTE, key_BKTE = self.heads(self.query(x_BTD)), self.heads(self.key(x_BTD))
        value_BKTE = self.heads(self.value(x_BTD))
        if self.qk_norm:
            query_BHTE, key_BKTE = self.query_norm(query_BHTE), self.key_norm(key_BKTE)
        query_BHTE, key_BKTE = context.turned(query_BHTE), context.turned(key_BKTE)
        mask = context.mask(self.window, query_BHTE)
        if context.cache is not None:
            key_BKTE, value_BKTE = context.cache.extend(self.layer, key_BKTE, value_BKTE)
        y_BHTE = functional.scaled_dot_product_attention(
            query_BHTE,
            key_BKTE,
            value_BKTE,
            attn_mask=mask,
            is_causal=mask is None and context.past == 0,
            enable_gqa=self.grouped,
        )
        return self.output(y_BHTE.transpose(1, 2).flatten(2))


def mask_TS(tokens: int, past: int, window: int | None, device: torch.device) -> Tensor:
    """True [T, past + T] where a token may look: not ahead, and less than `window` back."""
    query_T1 = torch.arange(past, past + tokens, device=device)[:, None]
    back_TS = query_T1 - torch.arange(past + tokens, device=device)
    seen_TS = back_TS >= 0
    return seen_TS if window is None else seen_TS & (back_TS < window)


def document_mask(document_ids_BT: Tensor, window: int | None = None) -> Tensor:
    """True [B, 1, T, T] where a position may look: earlier, near, and in the same document."""
    same_BTT = document_ids_BT[:, :, None] == document_ids_BT[:, None, :]
    tokens = document_ids_BT.shape[1]
    return (same_BTT & mask_TS(tokens, 0, window, document_ids_BT.device))[:, None]


def mask_for(
    tokens: int, past: int, window: int | None, document_ids_BT: Tensor | None, device: torch.device
) -> Tensor | None:
    """The mask of a layer with `window`; None where plain causal attention says the same."""
    if document_ids_BT is not None:
        return document_mask(document_ids_BT, window)
    if window is None and (past == 0 or tokens == 1):
        return None  # one token after all others sees everything
    return mask_TS(tokens, past, window, device)
