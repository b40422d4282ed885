"""Float8 products in the matrices inside the layers, by torchao; weights stay as they are.

Each product's operands are scaled by their largest value (tensorwise, dynamic) and rounded: inputs
and weights to e4m3, gradients to e5m2 (Micikevicius et al. 2022, arXiv 2209.05433). Embedding,
norms, attention and head compute as without. On a CPU the products are emulated: the rounding is
that of float8, the time is not.
"""

from __future__ import annotations

import logging
from typing import Any

from torch import nn

from seamount.core.errors import UserError


def convert(model: nn.Module) -> None:
    """Give the linear modules inside `model.layers` float8 products, in place, before any cut.

    Raises UserError where torchao is not installed.
    """
    float8 = _torchao()
    float8.convert_to_float8_training(
        getattr(model, "layers", nn.Module()),
        config=float8.Float8LinearConfig(emulate=True),
    )


def _torchao() -> Any:
    """torchao.float8, without what its import logs: CUDA extensions that a CPU does not load."""
    loud = [logging.getLogger(name) for name in ("torchao", "torch.utils._pytree")]
    levels = [logger.level for logger in loud]
    try:
        for logger in loud:
            logger.setLevel(logging.CRITICAL)
        from torchao import float8
    except ModuleNotFoundError as error:
        raise UserError("precision fp8 needs torchao: pip install 'seamount[train]'") from error
    finally:
        for logger, level in zip(loud, levels, strict=True):
            logger.setLevel(level)
    return float8
