"""Which sequences make up which step: a function of the seed and the step, never of the layout.

Shapes: B = batch size, T = sequence length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from torch import Tensor


class Sequences(Protocol):
    """An endless row of training sequences in their global order."""

    def __len__(self) -> int:
        """Number in one epoch."""
        ...

    def __getitem__(self, index: int) -> Any:
        """(ids int64 [T + 1], ...) of the sequence consumed as number `index`."""
        ...


@dataclass(frozen=True)
class Batches:
    """The batches of steps `first_step` to `steps`, each step the next B sequences.

    Every tensor-parallel rank reads the same batch.
    """

    sequences: Sequences
    batch_size: int
    first_step: int
    steps: int

    def __len__(self) -> int:
        return self.steps - self.first_step

    def __iter__(self) -> Iterator[Tensor]:
        """Yield ids int64 [B, T + 1]."""
        for step in range(self.first_step, self.steps):
            yield batch(self.sequences, step * self.batch_size, self.batch_size)


def batch(sequences: Sequences, first: int, count: int) -> Tensor:
    """Sequences number `first` to `first + count` as ids int64 [count, T + 1]."""
    import numpy as np
    import torch

    rows = [sequences[first + i][0] for i in range(count)]
    return torch.from_numpy(np.stack(rows))
