"""Training sequences cut from a token file, in an order that depends on nothing but the seed.

Sequence `index` of a run is a function of (seed, epoch, index) alone: worker count, rank layout
and interruptions cannot change it. Shapes: T = sequence length.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from seamount.core.errors import UserError
from seamount.corpora.text.tokens import TokenFile

if TYPE_CHECKING:
    import numpy as np

_ROUNDS = 4


@dataclass(frozen=True)
class PackedSequences:
    """Sequences of `sequence_length` + 1 ids; index runs on through epochs without end.

    The documents stand in a row and are cut every T ids; neighbours share one id (the last
    target of one is the first input of the next), so an epoch predicts every id once, bar the
    first and the `dropped_tokens` of the tail. `len()` is the number in one epoch.
    """

    file: TokenFile
    sequence_length: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.sequence_length < 1:
            raise UserError(f"sequence length {self.sequence_length} is below 1")
        if not len(self):
            raise UserError(
                f"{self.file.folder} holds {len(self.file.tokens)} {self.file.split} tokens, too "
                f"few for a sequence of {self.sequence_length} + 1: use a shorter one or more text"
            )

    def __len__(self) -> int:
        return max(0, (len(self.file.tokens) - 1) // self.sequence_length)

    @property
    def dropped_tokens(self) -> int:
        """Ids at the end of the file that fill no whole sequence."""
        return len(self.file.tokens) - 1 - len(self) * self.sequence_length

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """(ids int64 [T + 1], document number of each id int64 [T + 1]) of sequence `index`."""
        import numpy as np

        start = self.start_of(index)
        stop = start + self.sequence_length + 1
        ids = np.asarray(self.file.tokens[start:stop], dtype=np.int64)
        documents = np.searchsorted(self._starts, np.arange(start, stop), side="right") - 1
        return ids, documents

    def start_of(self, index: int) -> int:
        """Where in the token file sequence `index` begins."""
        epoch, position = divmod(index, len(self))
        return permuted(position, len(self), self.seed, epoch) * self.sequence_length

    def number_of(self, sequence: int, epoch: int) -> int:
        """As which number the `sequence`-th of the file (in its order) comes in `epoch`."""
        return epoch * len(self) + unpermuted(sequence, len(self), self.seed, epoch)

    @cached_property
    def _starts(self) -> np.ndarray:
        return self.file.starts


def permuted(position: int, size: int, seed: int, epoch: int) -> int:
    """Where `position` goes in a pseudo-random permutation of range(size).

    A Feistel network with cycle walking (Black and Rogaway 2002): a bijection for every size,
    with no table to keep or to store in a checkpoint.
    """
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half_bits) - 1
    while True:
        left, right = position >> half_bits, position & mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (_mixed(right, turn, seed, epoch) & mask)
        position = left << half_bits | right
        if position < size:
            return position


def unpermuted(position: int, size: int, seed: int, epoch: int) -> int:
    """The inverse of `permuted`: which position goes to `position`."""
    half_bits = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half_bits) - 1
    while True:
        left, right = position >> half_bits, position & mask
        for turn in reversed(range(_ROUNDS)):
            left, right = right ^ (_mixed(left, turn, seed, epoch) & mask), left
        position = left << half_bits | right
        if position < size:
            return position


def _mixed(value: int, turn: int, seed: int, epoch: int) -> int:
    key = b"".join(n.to_bytes(8, "little", signed=True) for n in (value, turn, seed, epoch))
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "little")
