"""The training loss: next-token cross-entropy with a gradient that reuses the forward pass.

Shapes: N = predicted tokens, V = vocabulary.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn import functional

IGNORED = -100  # a target that is not predicted
# A float32 probability below this is 0; its surprise is cut there (87 nats), its gradient is not.
_LEAST = torch.finfo(torch.float32).tiny


def cross_entropy(logits_NV: Tensor, targets_N: Tensor, tokens: float) -> Tensor:
    """Sum of the surprises in nats, divided by `tokens`: a part of a mean over more than these.

    IGNORED targets count for nothing. Logits cut over ranks need torch's loss_parallel context.
    """
    if isinstance(logits_NV, DTensor):
        loss = functional.cross_entropy(logits_NV, targets_N, reduction="sum", ignore_index=IGNORED)
        return (loss.full_tensor() if isinstance(loss, DTensor) else loss) / tokens
    return _CrossEntropy.apply(logits_NV, targets_N, tokens)


class _CrossEntropy(torch.autograd.Function):
    """Softmax once, turned into the gradient in place: half the time of the stock pair on a CPU."""

    @staticmethod
    def forward(ctx: Any, logits_NV: Tensor, targets_N: Tensor, tokens: float) -> Tensor:
        """The sum of -log softmax(logits)[target] / tokens."""
        share_NV = torch.softmax(logits_NV, dim=-1)
        ctx.save_for_backward(share_NV, targets_N)
        ctx.tokens = tokens
        least = max(_LEAST, torch.finfo(share_NV.dtype).tiny)
        surprise_N = -share_NV.gather(1, targets_N.clamp_min(0)[:, None]).clamp_min(least).log()
        return surprise_N[:, 0].masked_fill(targets_N == IGNORED, 0).sum() / tokens

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """(softmax - one-hot) / tokens. Uses up what forward saved, so it runs once."""
        share_NV, targets_N = ctx.saved_tensors
        each = gradient / ctx.tokens
        share_NV.mul_(each)
        share_NV[torch.arange(len(targets_N)), targets_N.clamp_min(0)] -= each
        ignored_N = targets_N == IGNORED
        if ignored_N.any():
            share_NV[ignored_N] = 0
        return share_NV, None, None
