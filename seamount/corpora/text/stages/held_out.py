"""Train, val and test: cut by groups of near copies, each component in every split."""

from __future__ import annotations

import numba
import numpy as np

from seamount.corpora.text.split import SPLITS

# A held-out split needs one document of a component that has at least so many (the test split is
# served first and leaves one for val, and training keeps one).
_LEAST_DOCUMENTS = {"test": 2, "val": 3}
_LEFT_OVER = {"test": 2, "val": 1}
# The first document held out is no larger than this share of its component, if one is that small.
_FIRST_SHARE = 0.1


def assign(
    components: np.ndarray,
    sizes: np.ndarray,
    groups: np.ndarray,
    budgets: dict[int, float],
    shares: dict[str, float],
) -> np.ndarray:
    """The split (position in SPLITS, int8 [S]) of each document, given in the order of asking.

    `components` are small numbers, `groups` number the groups of near copies; `budgets` is what
    each component will have in all (bytes) and `shares` the part of it that "val" and "test" get.
    Every component with two documents or more has one in test, with three or more one in val too,
    unless they are all copies of one another.
    """
    members = _members(components, sizes, groups)
    split_of = np.zeros(int(groups.max(initial=-1)) + 1, np.int8)
    for name in ("test", "val"):
        for component in sorted(budgets):
            low, high = np.searchsorted(members[0], (component, component + 1))
            part = [column[low:high] for column in members[1:]]
            _hold_out(
                *part,
                split_of,
                SPLITS.index(name),
                shares[name] * budgets[component],
                _LEAST_DOCUMENTS[name],
                _LEFT_OVER[name],
            )
    return split_of[groups]


def _members(
    components: np.ndarray, sizes: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Each component's groups in the order of asking: component, group, bytes and documents."""
    order = np.lexsort((groups, components))  # stable: a group's first document comes first
    new = np.ones(len(order), bool)
    new[1:] = np.diff(components[order].astype(np.int64)) != 0
    new[1:] |= np.diff(groups[order].astype(np.int64)) != 0
    starts = np.flatnonzero(new)
    first = order[starts]
    held = np.add.reduceat(sizes[order], starts) if len(starts) else sizes[:0]
    count = np.diff(np.r_[starts, len(order)])
    again = np.lexsort((first, components[first]))
    first = first[again]
    return components[first], groups[first], held[again].astype(np.int64), count[again]


@numba.njit(cache=True)
def _hold_out(groups, sizes, counts, split_of, split, aim, least, left_over):  # type: ignore[no-untyped-def]
    """Hold groups of one component out until they have `aim` bytes, training keeps `left_over`."""
    if aim <= 0:
        return
    taken = left = 0
    for at in range(groups.size):
        if split_of[groups[at]] == split:
            taken += sizes[at]
        elif split_of[groups[at]] == 0:
            left += counts[at]
    if taken == 0 and counts.sum() >= least:
        first = _first(groups, sizes, counts, split_of, aim, left)
        if first >= 0:
            split_of[groups[first]] = split
            taken, left = sizes[first], left - counts[first]
    for at in range(groups.size):
        fits = split_of[groups[at]] == 0 and taken + sizes[at] <= aim
        if fits and left - counts[at] >= left_over:
            split_of[groups[at]] = split
            taken += sizes[at]
            left -= counts[at]


@numba.njit(cache=True)
def _first(groups, sizes, counts, split_of, aim, left):  # type: ignore[no-untyped-def]
    """The first group small enough, else the smallest; -1 where none leaves training a document."""
    most = max(aim, _FIRST_SHARE * sizes.sum())
    smallest = -1
    for at in range(groups.size):
        if split_of[groups[at]] != 0 or counts[at] >= left:
            continue
        if sizes[at] <= most:
            return at
        if smallest < 0 or sizes[at] < sizes[smallest]:
            smallest = at
    return smallest
