"""int8 weights per output channel, symmetric: w is stored as round(w / scale) and a scale a row.

Weight-only: arithmetic stays fp32, so the torch twin with the same dequantised weights computes
what an exported file computes with Cast and Mul. Shape suffixes: O output channels (or ids of
an embedding), I inputs.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamount.core.errors import SeamountError

if TYPE_CHECKING:
    import numpy as np

LARGEST = 127  # -128 is left out, so that the range is symmetric


@dataclass(frozen=True)
class Int8Weight:
    """`values_OI` int8 and `scale_O` float32; the weight is their product."""

    values_OI: np.ndarray
    scale_O: np.ndarray

    def dequantised(self) -> np.ndarray:
        """float32 [O, I], as the exported file computes it."""
        import numpy as np

        weight_OI: Any = self.values_OI.astype(np.float32) * self.scale_O[:, None]
        return weight_OI


def quantise(weight_OI: np.ndarray, name: str = "a weight") -> Int8Weight:
    """Round each row to 255 steps of max|row| / 127; raises SeamountError if not finite."""
    import numpy as np

    if not np.isfinite(weight_OI).all():
        raise SeamountError(f"{name} holds values that are not finite: train again or exclude it")
    largest_O = np.abs(weight_OI).max(axis=1)
    # A row of zeros, or so small that its step would be subnormal, is stored as zeros.
    usable_O = largest_O > LARGEST * np.finfo(np.float32).tiny
    scale_O = np.where(usable_O, largest_O / LARGEST, 1.0).astype(np.float32)
    values_OI = np.rint(weight_OI / scale_O[:, None]).clip(-LARGEST, LARGEST).astype(np.int8)
    return Int8Weight(values_OI, scale_O)


def quantise_module(module: Any) -> tuple[Any, dict[str, Int8Weight]]:
    """(twin, weights): every Linear and Embedding weight of `module` in int8, by name.

    The twin is a copy that holds the dequantised weights; a tied weight is quantised once and
    stays tied.
    """
    from torch import nn

    twin = copy.deepcopy(module)
    weights: dict[str, Int8Weight] = {}
    seen: set[int] = set()
    for name, layer in twin.named_modules():
        if not isinstance(layer, nn.Linear | nn.Embedding) or id(layer.weight) in seen:
            continue
        seen.add(id(layer.weight))
        weights[f"{name}.weight"] = _replace(layer.weight, f"{name}.weight")
    return twin, weights


def _replace(parameter: Any, name: str) -> Int8Weight:
    import torch

    weight = quantise(parameter.detach().float().numpy(), name)
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(weight.dequantised()))
    return weight
