"""Document-clustered bootstrap: how far a figure moves when other documents had been drawn.

Documents are the independent draws, tokens within one are not, so whole documents are resampled
(Efron and Tibshirani 1993, ratio of sums). R = replicates, N = documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

REPLICATES = 1000
LEVEL = 0.95
_CELLS = 1 << 22  # bounds memory: R x N indices are drawn in slices of this many


def resampled_totals(
    columns: Sequence[Sequence[float]], name: str, seed: int = 0, replicates: int = REPLICATES
) -> np.ndarray:
    """float64 [R, columns]: sums over N documents drawn with replacement.

    The draw depends on (seed, name, N) alone, so one component's interval does not move when
    another is added; give the documents in a fixed order.
    """
    import numpy as np

    values_NC = np.array(columns, dtype=np.float64).T
    count = len(values_NC)
    key = blake2b(f"{seed}:{name}".encode(), digest_size=16).digest()
    rng = np.random.Generator(np.random.Philox(key=int.from_bytes(key, "little")))
    totals_RC = np.empty((replicates, values_NC.shape[1]))
    step = max(1, _CELLS // max(1, count))
    for start in range(0, replicates, step):
        drawn_RN = rng.integers(0, count, (min(step, replicates - start), count))
        totals_RC[start : start + step] = values_NC[drawn_RN].sum(axis=1)
    return totals_RC


def interval(replicates_R: np.ndarray, level: float = LEVEL) -> tuple[float, float]:
    """(low, high): the percentile interval that holds the share `level` of the replicates."""
    import numpy as np

    tail = (1 - level) / 2
    low, high = np.quantile(replicates_R, [tail, 1 - tail])
    return float(low), float(high)
