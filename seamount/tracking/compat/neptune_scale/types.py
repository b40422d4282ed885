"""Values with more to say than a path or an array: files and histograms."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class File:
    """A file to be stored: a path or the bytes themselves, and its MIME type if it cannot be told.

    `size` and `destination` are taken and not needed: sizes are counted, and content is stored
    under its own digest.
    """

    source: str | Path | bytes
    mime_type: str | None = None
    size: int | None = None
    destination: str | None = None


@dataclass
class Histogram:
    """n counts or densities between n + 1 growing edges, n at most 512; lists or numpy arrays."""

    bin_edges: Any
    counts: Any = None
    densities: Any = None

    def bin_edges_as_list(self) -> list[float]:
        """The edges as a list; TypeError if they are neither list nor array."""
        return _as_list(self.bin_edges, "Bin edges")

    def counts_as_list(self) -> list[int]:
        """The counts as a list; TypeError if they are neither list nor array."""
        return _as_list(self.counts, "Counts")

    def densities_as_list(self) -> list[float]:
        """The densities as a list; TypeError if they are neither list nor array."""
        return _as_list(self.densities, "Densities")


def _as_list(values: Any, what: str) -> list[Any]:
    if isinstance(values, list):
        return values
    if type(values).__module__ == "numpy" and hasattr(values, "tolist"):
        return values.tolist()
    raise TypeError(f"{what} must be of type list or np.ndarray, got {type(values)}")
