"""Which sequences make up which step: a function of the seed and the step, never of the layout.

Shapes: B = batch size, T = sequence length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from seamount.training.batch_sizes import BatchSizes

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


class Batch(NamedTuple):
    """What one rank reads for a step: ids [B, T] and the id that follows each, or IGNORED."""

    ids_BT: Tensor
    targets_BT: Tensor


@dataclass(frozen=True)
class Batches:
    """The batches of steps `first_step` to `steps`, each step the next sequences.

    Of these, the data ranks take equal slices in their order; all other ranks of a slice read the
    same one.
    """

    sequences: Sequences
    sizes: BatchSizes
    first_step: int
    steps: int
    data_rank: int = 0
    data_ranks: int = 1

    def __len__(self) -> int:
        return self.steps - self.first_step

    def __iter__(self) -> Iterator[Batch]:
        """Yield this rank's slice of each step's batch."""
        for step in range(self.first_step, self.steps):
            share = self.sizes.at(step) // self.data_ranks
            first = self.sizes.before(step) + self.data_rank * share
            yield read_batch(self.sequences, first, share)


def read_batch(sequences: Sequences, first: int, count: int) -> Batch:
    """Sequences number `first` to `first + count`."""
    import numpy as np
    import torch

    rows = torch.from_numpy(np.stack([sequences[first + i][0] for i in range(count)]))
    return Batch(rows[:, :-1], rows[:, 1:])


def held_out(
    sequences: Sequences, count: int, share: int, data_rank: int, data_ranks: int
) -> list[Batch]:
    """The first `count` sequences, for each data rank in batches of `share`, equal in number.

    Where they do not fill the last batch, its other rows have no target.
    """
    import torch

    from seamount.training.cross_entropy import IGNORED

    found = []
    for start in range(0, count, share * data_ranks):
        first = start + data_rank * share
        real = max(0, min(share, count - first))
        batch = read_batch(sequences, first if real else 0, real or 1)
        rows = [torch.zeros_like(t[:1]).expand(share - real, -1) for t in batch]
        ids_BT = torch.cat([batch.ids_BT[:real], rows[0]])
        found.append(Batch(ids_BT, torch.cat([batch.targets_BT[:real], rows[1] + IGNORED])))
    return found
