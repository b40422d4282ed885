"""The library call under `eval bpb`: nats of every document under a model, each token once.

Documents are read in bounded groups, their windows sorted by length and batched, so short ones
share a forward pass without much padding; scores come out in the order of the documents.
Shape suffixes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamount.core import progress
from seamount.core.errors import UserError
from seamount.core.records import Document, DocumentScore
from seamount.inference import windows
from seamount.inference.loading import Loaded, load_model
from seamount.inference.windows import Window

if TYPE_CHECKING:
    import numpy as np

BATCH_TOKENS = 2048
_GROUP_BATCHES = 32
_LOGITS_BYTES = 256 << 20


@dataclass(frozen=True)
class ModelScorer:
    """Scores documents with a loaded model under a named protocol (core.scoring.Scorer).

    `context_length` counts input tokens (default: the model's own); `prefix_token` opens every
    document (default: the tokenizer's BOS, else EOS); a batch holds at most `batch_tokens`.
    """

    loaded: Loaded
    context_length: int | None = None
    protocol_name: str = "paper"
    stride: int | None = None
    prefix_token: str | None = None
    batch_tokens: int = BATCH_TOKENS

    def __post_init__(self) -> None:
        if self.context_length is not None and self.context_length < 2:
            raise UserError(f"--context is {self.context_length}: use at least 2 tokens")
        if self.batch_tokens < 1:
            raise UserError(f"--batch-tokens is {self.batch_tokens}: use at least 1")
        windows.check(self.context, self.protocol_name, self.stride)
        if self.context > self.loaded.context_length:
            raise UserError(
                f"context {self.context} is longer than the model's {self.loaded.context_length}: "
                "use --context with at most that"
            )

    @property
    def context(self) -> int:
        """Input tokens of a full window."""
        given = self.context_length
        return self.loaded.context_length if given is None else given

    @property
    def warnings(self) -> list[str]:
        """Sentences a reader of the scores must know: windows longer than those of the training."""
        trained = self.loaded.trained_context
        if trained is None or self.context <= trained:
            return []
        return [
            f"the model was trained on sequences of {trained} tokens but is scored with windows of "
            f"{self.context}: the positions beyond {trained} were never trained, so the bits per "
            f"byte may be worse than its own; use --context {trained}"
        ]

    @property
    def prefix_id(self) -> int:
        """Id of the token before every document."""
        if self.prefix_token is not None:
            return self.loaded.tokenizer.token_id(self.prefix_token)
        if self.loaded.tokenizer.prefix_id is None:
            raise UserError(
                f"the tokenizer of {self.loaded.path} names no BOS or EOS: choose --prefix-token"
            )
        return self.loaded.tokenizer.prefix_id

    @property
    def protocol(self) -> dict[str, Any]:
        """All that must agree before two results may be compared, and what was scored."""
        return {
            "name": self.protocol_name,
            "context_length": self.context,
            "stride": self.stride if self.protocol_name == "sliding" else None,
            "prefix_id": self.prefix_id,
            "prefix_token": self.loaded.tokenizer.backend.id_to_token(self.prefix_id),
            "model": self.loaded.path,
            "model_digest": self.loaded.digest,
            "tokenizer_digest": self.loaded.tokenizer.digest,
            **self.loaded.protocol,
        }

    def score(self, documents: Iterable[Document]) -> Iterator[DocumentScore]:
        """One score a document, in order; an empty document has 0 tokens and 0 nats."""
        group: list[tuple[Document, list[int]]] = []
        size = 0
        for document in documents:
            ids = self.loaded.tokenizer.encode(document.text)
            group.append((document, ids))
            size += len(ids)
            if size >= _GROUP_BATCHES * self.batch_tokens:
                yield from self._score_group(group)
                group, size = [], 0
        yield from self._score_group(group)

    def _score_group(self, group: list[tuple[Document, list[int]]]) -> Iterator[DocumentScore]:
        import numpy as np

        prefix = self.prefix_id
        streams = [np.array([prefix, *ids], dtype=np.int64) for _, ids in group]
        pieces = [
            (index, window)
            for index, (_, ids) in enumerate(group)
            for window in windows.cut(len(ids), self.context, self.protocol_name, self.stride)
        ]
        parts: list[list[float]] = [[] for _ in group]
        for batch in _bucketed(pieces, self._rows_of):
            for (index, _), nats in zip(batch, self._nats(batch, streams), strict=True):
                parts[index].append(nats)
        for (document, ids), nats_parts in zip(group, parts, strict=True):
            size_bytes = len(document.text.encode())
            yield DocumentScore(
                document.id, document.component, size_bytes, len(ids), math.fsum(nats_parts)
            )

    def _rows_of(self, length: int) -> int:
        """How many windows of `length` fit one batch, by tokens and by the size of the logits."""
        by_logits = _LOGITS_BYTES // (4 * self.loaded.vocab_size * length)
        return max(1, min(self.batch_tokens // length, by_logits))

    def _nats(self, batch: list[tuple[int, Window]], streams: list[np.ndarray]) -> list[float]:
        import numpy as np

        longest = max(window.length for _, window in batch)
        ids_BT = np.zeros((len(batch), longest + 1), dtype=np.int64)
        counted_BT = np.zeros((len(batch), longest), dtype=bool)
        for row, (index, window) in enumerate(batch):
            ids_BT[row, : window.length + 1] = streams[index][window.start : window.stop + 1]
            counted_BT[row, window.first : window.length] = True
        logits_BTV = self.loaded.forward(np.ascontiguousarray(ids_BT[:, :-1]))
        nats_BT = token_nats(logits_BTV, ids_BT[:, 1:])
        return [float(x) for x in np.where(counted_BT, nats_BT, 0.0).sum(axis=1)]


def score_model(
    path: str,
    documents: Iterable[Document],
    context_length: int | None = None,
    protocol: str = "paper",
    batch_tokens: int = BATCH_TOKENS,
    total: int | None = None,
) -> Iterator[DocumentScore]:
    """Open the model at `path` and score `documents` in order, with a bar (`total` documents)."""
    scorer = ModelScorer(load_model(path), context_length, protocol, batch_tokens=batch_tokens)
    with progress.bar("score", total=total) as bar:
        for score in scorer.score(documents):
            bar.advance()
            yield score


def token_nats(logits_BTV: np.ndarray, targets_BT: np.ndarray) -> np.ndarray:
    """float64 [B, T]: minus the log-probability of each target."""
    import torch
    from torch.nn import functional

    flat_NV = torch.from_numpy(logits_BTV).flatten(0, 1)
    targets_N = torch.from_numpy(targets_BT.copy()).flatten()
    with torch.inference_mode():
        nats_N = functional.cross_entropy(flat_NV, targets_N, reduction="none")
    nats_BT: Any = nats_N.double().numpy().reshape(targets_BT.shape)
    return nats_BT


def _bucketed(pieces: list[tuple[int, Window]], rows_of: Any) -> Iterator[list[tuple[int, Window]]]:
    """Batches of windows of like length, longest first."""
    ordered = sorted(pieces, key=lambda p: (-p[1].length, p[0], p[1].start))
    start = 0
    while start < len(ordered):
        stop = start + rows_of(ordered[start][1].length)
        yield ordered[start:stop]
        start = stop
