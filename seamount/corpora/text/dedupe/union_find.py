"""Union-find over document numbers, in one array of 4 bytes (8 beyond 2^31) a document."""

from __future__ import annotations

import numba
import numpy as np


def forest(size: int) -> np.ndarray:
    """Every one of `size` documents alone (parent [N])."""
    return np.arange(size, dtype=np.int32 if size < 1 << 31 else np.int64)


@numba.njit(cache=True, nogil=True, inline="always")
def root_of(parent, node):  # type: ignore[no-untyped-def]
    """The smallest number in the set of `node`; halves the path on the way."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@numba.njit(cache=True, nogil=True, inline="always")
def unite(parent, left, right):  # type: ignore[no-untyped-def]
    """Join two sets under the smaller root; says whether they were apart."""
    a, b = root_of(parent, left), root_of(parent, right)
    if a == b:
        return False
    parent[max(a, b)] = min(a, b)
    return True


@numba.njit(cache=True, nogil=True)
def flatten(parent):  # type: ignore[no-untyped-def]
    """Point every document straight at the smallest number of its set, in place."""
    for node in range(parent.size):
        parent[node] = parent[parent[node]]  # a parent is smaller, so it is flat already
