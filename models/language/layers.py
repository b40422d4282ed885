"""Norms and feed-forward layers. Shape suffixes as in model.py."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.language.config import LanguageConfig
from models.language.kernels import RMSNormGradient


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


def build_norm(config: LanguageConfig) -> nn.Module:
    """The norm of one residual branch: RMSNorm, or LayerNorm (Ba et al. 2016) with its bias."""
    if config.norm == "rms":
        return RMSNorm(config.hidden_size, config.norm_eps)
    return nn.LayerNorm(config.hidden_size, config.norm_eps)


class SwiGLU(nn.Module):
    """down(silu(gate(x)) * up(x)) (Shazeer 2020)."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.gate = nn.Linear(width, inner, bias=bias)
        self.up = nn.Linear(width, inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Map each position by itself."""
        return self.down(functional.silu(self.gate(x_BTD)) * self.up(x_BTD))


class GELU(nn.Module):
    """down(gelu(up(x))) (Hendrycks and Gimpel 2016), exact or by the tanh of GPT-2's code."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        width, inner, bias = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.up = nn.Linear(width, inner, bias=bias)
        self.down = nn.Linear(inner, width, bias=bias)
        self.approximate = "tanh" if config.mlp == "gelu_tanh" else "none"

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Map each position by itself."""
        return self.down(functional.gelu(self.up(x_BTD), approximate=self.approximate))


def build_mlp(config: LanguageConfig) -> nn.Module:
    """The feed-forward layer of one block."""
    return SwiGLU(config) if config.mlp == "swiglu" else GELU(config)
