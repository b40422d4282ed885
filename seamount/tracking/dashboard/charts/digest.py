"""A digest that says whether a picture still shows what the store holds.

It is over the points as they were logged, not as they are drawn: no sum and no logarithm is in it,
so every machine finds the same. Of each strand (a metric of a rank of a run) within the x range:

    SHA-256(JSON [run id, metric, rank, group] (ASCII, no spaces), line feed,
            x of every point by x as little-endian doubles, y of every point likewise)

every NaN as 0x7ff8000000000000; `group` is the list of its group's values as texts. The chart's
digest is the SHA-256 of the strands' in hexadecimal, sorted, each with a line feed after it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def strand_digest(run_id: str, metric: str, rank: int, group: Sequence[str], x: Any, y: Any) -> str:
    """The digest of one strand."""
    head = json.dumps([run_id, metric, rank, list(group)], separators=(",", ":"))
    state = hashlib.sha256(head.encode() + b"\n")
    for values in (x, y):
        state.update(np.where(np.isnan(values), np.nan, values).astype("<f8").tobytes())
    return state.hexdigest()


def joint_digest(digests: Iterable[str]) -> str:
    """The digest of several, in whatever order."""
    return hashlib.sha256("".join(f"{each}\n" for each in sorted(digests)).encode()).hexdigest()
