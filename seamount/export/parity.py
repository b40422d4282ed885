"""The exported file against the torch model, on a grid of shapes.

Shape suffixes: B batch, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from seamount.core.errors import SeamountError

if TYPE_CHECKING:
    import numpy as np

TOLERANCE = 1e-3  # of the largest logit, or absolute where that is below 1
_SEED = 0


@dataclass(frozen=True)
class Shape:
    """One cell of the grid.

    `argmax_agreement` is the share of positions with the same likeliest token; `flips` counts
    those that differ although the gap between the two best exceeds twice the error.
    """

    batch: int
    sequence: int
    max_abs_error: float
    largest_logit: float
    argmax_agreement: float
    flips: int

    @property
    def holds(self) -> bool:
        """Whether the file computes what the model computes."""
        bound = TOLERANCE * max(1.0, self.largest_logit)
        return self.max_abs_error <= bound and self.flips == 0


@dataclass(frozen=True)
class Parity:
    """All cells; `ok` where every one holds."""

    shapes: list[Shape]

    @property
    def ok(self) -> bool:
        """Whether every shape holds."""
        return all(shape.holds for shape in self.shapes)

    @property
    def max_abs_error(self) -> float:
        """The worst of all cells."""
        return max(shape.max_abs_error for shape in self.shapes)

    def to_dict(self) -> dict[str, Any]:
        """The content of parity.json."""
        return {
            "ok": self.ok,
            "max_abs_error": self.max_abs_error,
            "tolerance": TOLERANCE,
            "shapes": [{**asdict(shape), "ok": shape.holds} for shape in self.shapes],
        }


def compare(
    reference: Callable[[np.ndarray], np.ndarray],
    candidate: Callable[[np.ndarray], np.ndarray],
    vocab_size: int,
    context_length: int,
) -> Parity:
    """Run both on random ids of several shapes, the shortest and the longest sequence included."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    shapes = []
    for batch, sequence in grid(context_length):
        ids_BT = rng.integers(0, vocab_size, (batch, sequence), dtype=np.int64)
        shapes.append(_cell(reference(ids_BT), candidate(ids_BT)))
    return Parity(shapes)


def require(parity: Parity) -> None:
    """Raise SeamountError naming the first shape that does not hold."""
    for shape in parity.shapes:
        if not shape.holds:
            raise SeamountError(
                f"the exported file differs from the model at batch {shape.batch}, sequence "
                f"{shape.sequence}: logits by {shape.max_abs_error:.3g}, {shape.flips} other "
                "likeliest tokens; nothing was published"
            )


def grid(context_length: int) -> list[tuple[int, int]]:
    """(batch, sequence) pairs: 1 to 4 rows, 1 token to the whole context."""
    quarter = max(1, context_length // 4)
    wanted = [(1, 1), (4, 1), (1, 2), (2, 7), (3, quarter), (1, context_length)]
    return sorted({(b, min(s, context_length)) for b, s in wanted})


def _cell(wanted_BTV: np.ndarray, given_BTV: np.ndarray) -> Shape:
    import numpy as np

    batch, sequence, _ = wanted_BTV.shape
    if given_BTV.shape != wanted_BTV.shape or not np.isfinite(given_BTV).all():
        infinite = float("inf")
        return Shape(batch, sequence, infinite, infinite, 0.0, batch * sequence)
    error = float(np.abs(wanted_BTV - given_BTV).max())
    best_two = np.partition(wanted_BTV, -2, axis=-1)[..., -2:]
    gap_BT = best_two[..., 1] - best_two[..., 0]
    other_BT = wanted_BTV.argmax(-1) != given_BTV.argmax(-1)
    return Shape(
        batch=batch,
        sequence=sequence,
        max_abs_error=error,
        largest_logit=float(np.abs(wanted_BTV).max()),
        argmax_agreement=1.0 - float(other_BT.mean()),
        flips=int((other_BT & (gap_BT > 2 * error)).sum()),
    )
