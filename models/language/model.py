"""A decoder for one device: the families Llama, Mistral, Qwen and GPT-2 are configurations of it.

Each block adds attention and a feed-forward layer, both on a normed copy, to the residual stream.
It knows nothing of layouts: plan.py says how it is cut. Parameter names are stable ("layers.7."
stays "layers.7." in any pipeline stage, since the layers stand in a dict).

Shape suffixes:
    B  batch                 T  tokens in          D  hidden size
    H  query heads           K  key/value heads    E  head dim
    F  feed-forward size     V  vocabulary         S  tokens in and before
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.language.attention import Attention, Context
from models.language.cache import KeyValueCache
from models.language.config import LanguageConfig
from models.language.layers import build_mlp, build_norm
from models.language.positions import count_in_document, rotary_tables


class Block(nn.Module):
    """Attention and feed-forward, each on a normed copy of the residual stream."""

    def __init__(self, config: LanguageConfig, layer: int) -> None:
        super().__init__()
        self.attention_norm = build_norm(config)
        self.attention = Attention(config, layer)
        self.mlp_norm = build_norm(config)
        self.mlp = build_mlp(config)

    def forward(self, x_BTD: Tensor, context: Context) -> Tensor:
        """Add both branches to the residual stream."""
        x_BTD = x_BTD + self.attention(self.attention_norm(x_BTD), context)
        return x_BTD + self.mlp(self.mlp_norm(x_BTD))


class LanguageModel(nn.Module):
    """Token ids in, next-token logits out."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        learned = config.position == "learned"
        self.positions = (
            nn.Embedding(config.context_length, config.hidden_size) if learned else None
        )
        self.cos: Tensor | None
        self.sin: Tensor | None
        cos, sin = (None, None) if learned else rotary_tables(config)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.layers = nn.ModuleDict({str(i): Block(config, i) for i in range(config.layers)})
        self.norm = build_norm(config)
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.tie()

    def tie(self) -> None:
        """Make head and embedding one parameter again, if the configuration says so."""
        if self.config.tied and self.head is not None and self.embedding is not None:
            self.head.weight = self.embedding.weight

    def forward(
        self,
        ids_BT: Tensor,
        document_ids_BT: Tensor | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Logits [B, T, V]; with `document_ids_BT` no position sees another document.

        Positions count from the start of the row, learned ones from the start of the document.
        With `cache`, `ids_BT` follow what it holds, and are added to it; it takes no documents.
        All tokens together are at most `config.context_length`. A stage of a pipeline
        (plan.keep_stage) takes and gives the residual stream [B, T, D] where it has no embedding,
        or no head.
        """
        past = 0 if cache is None else self._check_cache(cache, ids_BT, document_ids_BT)
        tables = None if self.cos is None or self.sin is None else (self.cos, self.sin)
        context = Context(tables, past, document_ids_BT, cache)
        x_BTD = ids_BT
        if self.embedding is not None:
            x_BTD = self.embedding(ids_BT)
        if self.positions is not None:
            x_BTD = x_BTD + self.positions(self._places(ids_BT, past, document_ids_BT))
        for block in self.layers.values():
            x_BTD = block(x_BTD, context)
        if cache is not None:
            cache.advance(ids_BT.shape[1])
        return x_BTD if self.head is None else self.head(self.norm(x_BTD))

    def _check_cache(
        self, cache: KeyValueCache, ids_BT: Tensor, document_ids_BT: Tensor | None
    ) -> int:
        """How many tokens lie behind; raises ValueError where these may not follow."""
        if document_ids_BT is not None:
            raise ValueError("a cache holds one document a row: give no document ids with it")
        if (total := cache.length + ids_BT.shape[1]) > self.config.context_length:
            raise ValueError(f"{total} tokens are above {self.config.context_length}, the context")
        return cache.length

    @staticmethod
    def _places(ids_BT: Tensor, past: int, document_ids_BT: Tensor | None) -> Tensor:
        """Each token's learned position: [T], or [B, T] where rows hold several documents."""
        if document_ids_BT is not None:
            return count_in_document(document_ids_BT)
        return torch.arange(past, past + ids_BT.shape[1], device=ids_BT.device)


def initialise(model: LanguageModel, seed: int, embedding_std: float = 0.02) -> None:
    """Fill every parameter from `seed` alone, as `config.initialisation` says.

    "zero_output": matrices get std 1/sqrt(inputs) and the two that write to the residual stream
    start at 0 (each block starts as the identity); an untied head starts at 0 as well, so that
    the first predictions are uniform. "normal": all matrices get std 0.02, as in the code of the
    published families; GPT-2 divides it by sqrt(2 layers) where a matrix writes to the residual
    stream (Radford et al. 2019, section 2.3). Tables get `embedding_std`, norms 1, biases 0.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.dim() < 2:
            nn.init.constant_(parameter, 0.0 if name.endswith("bias") else 1.0)
            continue
        std = _std(model.config, name, parameter, embedding_std)
        if std:
            nn.init.normal_(parameter, std=std, generator=generator)
        else:
            nn.init.zeros_(parameter)


def _std(config: LanguageConfig, name: str, parameter: Tensor, embedding_std: float) -> float:
    if name in ("embedding.weight", "positions.weight"):
        return embedding_std
    writes = name.endswith((".output.weight", ".down.weight"))
    if config.initialisation == "zero_output":
        return 0.0 if writes or name == "head.weight" else parameter.shape[1] ** -0.5
    residual = (2 * config.layers) ** 0.5 if writes and config.architecture == "gpt2" else 1.0
    return 0.02 / residual
