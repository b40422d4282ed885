"""What arrays mean when they are logged: pictures, sounds, films and histograms.

Arrays are numpy arrays, torch tensors or anything numpy takes; numpy is imported when one is made
into a file, never by the logger itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from seamount.core.errors import UserError

MAX_BINS = 512


@dataclass(frozen=True)
class Image:
    """A picture [H, W], [H, W, C] or [C, H, W], C of 1, 3 or 4; whole numbers 0..255, or 0..1."""

    array: Any


@dataclass(frozen=True)
class Audio:
    """A sound [T] or [T, channels] at `rate` samples a second; floats (full scale is 1) or ints."""

    array: Any
    rate: int


@dataclass(frozen=True)
class Video:
    """A film [T, H, W, C] of pictures, `fps` a second."""

    array: Any
    fps: float = 10.0


@dataclass(frozen=True)
class Histogram:
    """Counts or densities between growing edges: n values between n + 1 edges, n at most 512."""

    bin_edges: Sequence[float]
    counts: Sequence[float] | None = None
    densities: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if (self.counts is None) == (self.densities is None):
            raise UserError("a Histogram takes either counts or densities")
        object.__setattr__(self, "bin_edges", _numbers(self.bin_edges, "bin_edges"))
        for name in ("counts", "densities"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _numbers(getattr(self, name), name))
        edges, values = self.bin_edges, self.values
        if len(edges) != len(values) + 1 or not 1 <= len(values) <= MAX_BINS:
            raise UserError(
                f"a Histogram of {len(values)} values needs {len(values) + 1} bin_edges, not "
                f"{len(edges)}, and at most {MAX_BINS} values"
            )
        if any(right <= left for left, right in pairwise(edges)):
            raise UserError("bin_edges must grow from each to the next")
        if min(values) < 0:
            raise UserError(f"a Histogram's values must not be negative, as {min(values)} is")

    @property
    def values(self) -> Sequence[float]:
        """The counts, or the densities."""
        found = self.counts if self.counts is not None else self.densities
        return found if found is not None else ()

    @property
    def type(self) -> str:
        """COUNTING or DENSITY, as Neptune calls them."""
        return "COUNTING" if self.counts is not None else "DENSITY"

    @classmethod
    def of(cls, values: Any, bins: int = 64) -> Histogram:
        """The histogram of the finite ones among `values` (an array of any shape).

        One bin where doubles cannot hold so many edges between the lowest and the highest.
        """
        import numpy as np

        found = np.asarray(as_array(values), np.float64).ravel()
        found = found[np.isfinite(found)]
        try:
            with np.errstate(all="ignore"):
                counts, edges = np.histogram(found, bins)
        except ValueError:  # closer than doubles can be cut, or further apart than a double is
            return cls(_ends(found.min().item(), found.max().item()), counts=[found.size])
        return cls(edges.tolist(), counts=counts.tolist())


def _ends(low: float, high: float) -> list[float]:
    """The edges of one bin that holds both."""
    return [low, high] if low < high else sorted([low, math.nextafter(low, 0.0)])


def as_array(value: Any) -> Any:
    """`value` as a numpy array (a torch tensor from any device and of any dtype)."""
    import numpy as np

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if value.is_floating_point() else value
    return np.asarray(value)


def pixels(value: Any) -> Any:
    """A picture as uint8 [H, W] or [H, W, C]; UserError says what does not fit."""
    import numpy as np

    array = as_array(value)
    if array.ndim == 3 and array.shape[-1] not in (1, 3, 4) and array.shape[0] in (1, 3, 4):
        array = array.transpose(1, 2, 0)
    if array.ndim == 3 and array.shape[-1] == 1:
        array = array[..., 0]
    if 0 in array.shape or not (array.ndim == 2 or (array.ndim == 3 and array.shape[-1] in (3, 4))):
        raise UserError(f"an Image is [H, W] or [H, W, 1, 3 or 4], not {list(array.shape)}")
    limit = 1.0 if array.dtype.kind == "f" else 255
    if array.dtype == bool:
        return array.astype(np.uint8) * 255
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= limit):  # a NaN fails too
        raise UserError(f"an Image of {array.dtype} lies in 0..{limit}, not in {low}..{high}")
    return np.rint(array * 255).astype(np.uint8) if limit == 1.0 else array.astype(np.uint8)


def _numbers(values: Any, name: str) -> list[float]:
    try:
        found = [float(value) for value in values]
    except (TypeError, ValueError, OverflowError) as error:
        raise UserError(f"a Histogram's {name} must be numbers, not {values!r:.80}") from error
    if not all(map(math.isfinite, found)):
        raise UserError(f"a Histogram's {name} must be finite")
    return found
