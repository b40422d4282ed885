"""From signatures and digests to clusters of copies: LSH candidates, verified and joined.

Documents are numbered 0..N-1 in the order of survival (component priority, then stable id), so a
cluster's survivor is its smallest number and nothing depends on the order of work.
"""

from __future__ import annotations

import numpy as np

from seamount.corpora.text.dedupe import minhash

# A pair is a near duplicate where the signatures agree in this share of places. It is an estimate
# of the Jaccard similarity with a standard error of 0.04, so of true pairs at 0.8 some 99 % pass,
# and of pairs below 0.3 fewer than one in a million.
SAME = 0.7
# Pairs this alike are never put on two sides of a train/test cut, though both are kept.
LEAK = 0.5
# In a larger bucket every member is compared with the first ones only, lest it grow quadratic.
_ALL_PAIRS_UP_TO = 48
_PAIRS_AT_ONCE = 1 << 16


def exact_pairs(digests_N: np.ndarray) -> np.ndarray:
    """Pairs [M, 2] that link each document to the first with the same digest (bytes [N])."""
    _, first, group = np.unique(digests_N, return_index=True, return_inverse=True)
    firsts = first[group.ravel()]
    later = np.flatnonzero(firsts != np.arange(len(digests_N)))
    return np.stack([firsts[later], later], axis=1)


def similar_pairs(signatures_NK: np.ndarray, least: float) -> tuple[np.ndarray, np.ndarray]:
    """Pairs [M, 2] that share a band and are at least this similar, and their similarity [M]."""
    usable = np.flatnonzero(minhash.has_words(signatures_NK))
    size = max(1, len(signatures_NK))
    numbers = np.empty(0, np.int64)  # a pair as one number: first * size + second
    for band in range(minhash.BANDS):
        pairs = usable[_bucket_pairs(minhash.band_hashes(signatures_NK[usable], band))]
        numbers = _distinct(np.concatenate([numbers, pairs[:, 0] * size + pairs[:, 1]]))
    pairs = np.stack(np.divmod(numbers, size), axis=1)
    similarity = _agreement(signatures_NK, pairs)
    keep = similarity >= least
    return pairs[keep], similarity[keep]


def _distinct(numbers: np.ndarray) -> np.ndarray:
    """As np.unique, which takes ten times as long on numbers like these (numpy 2.4 hashes them)."""
    numbers = np.sort(numbers)
    return numbers[np.r_[True, numbers[1:] != numbers[:-1]]] if len(numbers) else numbers


def _bucket_pairs(hashes: np.ndarray) -> np.ndarray:
    order = np.argsort(hashes, kind="stable")
    borders = np.flatnonzero(np.diff(hashes[order])) + 1
    pairs = [np.empty((0, 2), np.int64)]
    starts, ends = np.r_[0, borders], np.r_[borders, len(order)]
    for start, end in zip(starts, ends, strict=True):
        if end - start > 1:
            pairs.append(_pairs_within(order[start:end]))
    return np.concatenate(pairs)


def _pairs_within(members: np.ndarray) -> np.ndarray:
    rows = min(len(members), _ALL_PAIRS_UP_TO)
    first, second = np.triu_indices(rows, k=1, m=len(members))
    return np.stack([members[first], members[second]], axis=1)


def _agreement(signatures_NK: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    parts = [np.empty(0)]
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        left, right = pairs[start : start + _PAIRS_AT_ONCE].T
        parts.append((signatures_NK[left] == signatures_NK[right]).mean(axis=1))
    return np.concatenate(parts)


def join(size: int, pairs: np.ndarray) -> np.ndarray:
    """For each of `size` documents the smallest number in its cluster (int64 [N])."""
    parent = list(range(size))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in pairs.tolist():
        a, b = root(left), root(right)
        parent[max(a, b)] = min(a, b)
    return np.fromiter((root(n) for n in range(size)), np.int64, size)
