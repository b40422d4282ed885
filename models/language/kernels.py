"""Hand-written gradients where autograd's own cost a small model a tenth of its training time.

They are used in training mode alone; what exporters trace is the plain form. The tests hold them
against it in float64. Shape suffixes as in model.py.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class RMSNormGradient(torch.autograd.Function):
    """x / rms(x) * weight over the last dim, computed in float32 or better."""

    @staticmethod
    def forward(ctx: Any, x_BTD: Tensor, weight_D: Tensor, eps: float) -> Tensor:
        """The normed copy of `x_BTD`, in its dtype."""
        wide_BTD = _wide(x_BTD)
        norm_BT1 = torch.linalg.vector_norm(wide_BTD, dim=-1, keepdim=True)
        scale_BT1 = torch.rsqrt(norm_BT1.square() / x_BTD.shape[-1] + eps)
        unit_BTD = wide_BTD * scale_BT1
        ctx.save_for_backward(unit_BTD, weight_D, scale_BT1)
        ctx.dtype = x_BTD.dtype
        return (unit_BTD * _wide(weight_D)).to(x_BTD.dtype)

    @staticmethod
    def backward(ctx: Any, gradient_BTD: Tensor) -> tuple[Tensor, Tensor, None]:
        """With u = x * scale: dx = scale * (g w - u mean(g w u)), dw = sum over B, T of g u."""
        unit_BTD, weight_D, scale_BT1 = ctx.saved_tensors
        wide_BTD, wide_D = _wide(gradient_BTD), _wide(weight_D)
        along_BTD = wide_BTD * unit_BTD
        by_weight_D = along_BTD.flatten(0, -2).sum(0)
        mean_BT1 = (along_BTD @ wide_D).unsqueeze(-1) / weight_D.shape[0]
        by_x_BTD = torch.addcmul(wide_BTD * wide_D, unit_BTD, mean_BT1, value=-1).mul_(scale_BT1)
        return by_x_BTD.to(ctx.dtype), by_weight_D.to(weight_D.dtype), None


def _wide(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
