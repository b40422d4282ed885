"""The random generators of a process, as tensors that a checkpoint can hold.

Lightning saves none of them (its loops store progress only).
"""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import Tensor


def seed_all(seed: int) -> None:
    """Start python's, NumPy's and torch's global generators from `seed`."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def capture() -> dict[str, Tensor]:
    """The state of each generator; fixed shapes, so that one can be loaded over another."""
    _, words, position, has_gauss, gauss = np.random.get_state()
    _, internal, python_gauss = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "numpy": torch.from_numpy(np.append(words, position).astype(np.int64)),
        "numpy_gauss": torch.tensor([float(has_gauss), float(gauss)], dtype=torch.float64),
        "python": torch.tensor(internal, dtype=torch.int64),
        "python_gauss": torch.tensor(
            [float(python_gauss is not None), python_gauss or 0.0], dtype=torch.float64
        ),
    }


def restore(state: dict[str, Tensor]) -> None:
    """Set each generator to what `capture` saw."""
    torch.set_rng_state(state["torch"])
    words = state["numpy"].numpy()
    has_gauss, gauss = state["numpy_gauss"].tolist()
    keys = words[:-1].astype(np.uint32)
    np.random.set_state(("MT19937", keys, int(words[-1]), int(has_gauss), gauss))
    held, python_gauss = state["python_gauss"].tolist()
    internal = tuple(int(w) for w in state["python"])
    random.setstate((3, internal, python_gauss if held else None))
