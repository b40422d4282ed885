"""Keys and values of the tokens a model has read, so that the next ones cost only themselves.

Shape suffixes as in model.py; S is the number of positions held.
"""

from __future__ import annotations

from torch import Tensor


class KeyValueCache:
    """One slot a position and layer, all rows of a batch equally long.

    Give the same cache to every call of the model, each with the tokens that follow. A layer with
    a sliding window keeps all positions as well, and masks those that are out of reach.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.keys: dict[int, Tensor] = {}
        self.values: dict[int, Tensor] = {}

    def extend(self, layer: int, key_BKTE: Tensor, value_BKTE: Tensor) -> tuple[Tensor, Tensor]:
        """Put the new tokens of `layer` behind the others; all of them [B, K, S, E]."""
        stop = self.length + key_BKTE.shape[2]
        if stop > self.capacity:
            raise ValueError(f"{stop} tokens do not fit a cache of {self.capacity}")
        if layer not in self.keys:
            batch, heads, _, width = key_BKTE.shape
            self.keys[layer] = key_BKTE.new_empty(batch, heads, self.capacity, width)
            self.values[layer] = value_BKTE.new_empty(batch, heads, self.capacity, width)
        key_BKSE, value_BKSE = self.keys[layer][:, :, :stop], self.values[layer][:, :, :stop]
        key_BKSE[:, :, self.length :] = key_BKTE
        value_BKSE[:, :, self.length :] = value_BKTE
        return key_BKSE, value_BKSE

    def advance(self, tokens: int) -> None:
        """Count `tokens` as read, once every layer has them."""
        self.length += tokens

    def rewind(self, length: int) -> None:
        """Forget what was read after the first `length` tokens."""
        if not 0 <= length <= self.length:
            raise ValueError(f"length {length} is not between 0 and the {self.length} held")
        self.length = length
