"""Copies among all documents, from sorted band files: exact ones by digest, near ones verified.

Documents are numbered 0..N-1 as they were read. Two of them are compared where they share a band;
every pair found alike joins two sets of a union-find, so the outcome depends on no order of work,
and a pair that is joined already is not compared again. Memory: 13 bytes a document, the range of
keys at hand, and the sketches by a memory map.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numba
import numpy as np

from seamount.corpora.text.dedupe import minhash
from seamount.corpora.text.dedupe.band_files import EXACT, RUNS, SLOTS, BandFile
from seamount.corpora.text.dedupe.union_find import flatten, forest, root_of, unite

# A pair is a near duplicate where the sketches agree in this share of places. It is an estimate of
# the Jaccard similarity with a standard error of 0.04, so of true pairs at 0.8 some 99 % pass, and
# of pairs below 0.3 fewer than one in a million.
SAME = 0.7
# Pairs this alike are never put on two sides of a train/test cut, though both are kept.
LEAK = 0.5
# In a larger bucket every member is compared with the first ones only, lest it grow quadratic.
_ALL_PAIRS_UP_TO = 48
# Keys, numbers and sorting order of the documents at hand; more than one slot only if they fit.
_RANGE_BYTES = 256 << 20
_BYTES_A_KEY = 40


@dataclass(frozen=True)
class Copies:
    """The smallest number in each document's set [N]: of equal texts (`exact`), of near and equal
    ones (`same`), of those that must stay in one split (`group`); and how many pairs were
    compared to know.
    """

    exact: np.ndarray
    same: np.ndarray
    group: np.ndarray
    compared: int


@contextmanager
def opened_sketches(files: Sequence[BandFile], scratch: str | None = None) -> Iterator[np.ndarray]:
    """The sketches of all documents as one array [N, K], mapped from a file that is gone after.

    `scratch` is a local folder with room for 120 bytes a document (else the system's own).
    """
    size = sum(file.documents for file in files)
    with tempfile.TemporaryFile(dir=scratch) as stream:
        for file in files:
            stream.write(file.sketches().tobytes())
        stream.flush()
        shape = (size, minhash.HASHES)
        yield (
            np.asarray(np.memmap(stream, np.uint8, "r", shape=shape))
            if size
            else np.empty(shape, np.uint8)
        )


def find(files: Sequence[BandFile], sketches_NK: np.ndarray | None) -> Copies:
    """All copies among the documents of `files`, which follow one another in number.

    Without sketches only exact ones are looked for.
    """
    size = sum(file.documents for file in files)
    exact = forest(size)
    for keys, lows, numbers in _ranges(files, EXACT):
        order = np.lexsort((lows, keys))  # stable: equal ones stay in the order of their numbers
        _join_equal(keys[order], lows[order], numbers[order], exact)
    flatten(exact)
    same, group, compared = exact.copy(), exact.copy(), 0
    if sketches_NK is not None:
        for run in range(EXACT + 1, RUNS):
            for keys, _, numbers in _ranges(files, run):
                first = exact[numbers] == numbers  # equal texts are compared once
                keys, numbers = keys[first], numbers[first]
                order = np.argsort(keys, kind="stable")
                compared += _join_alike(
                    keys[order],
                    numbers[order],
                    sketches_NK,
                    same,
                    group,
                    minhash.least_agreeing(SAME),
                    minhash.least_agreeing(LEAK),
                )
        flatten(same)
        flatten(group)
    return Copies(exact, same, group, int(compared))


def _ranges(
    files: Sequence[BandFile], run: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Keys, low halves and numbers of one run over all files, some slots at a time."""
    size = sum(file.documents for file in files)
    step = max(1, min(SLOTS, SLOTS * _RANGE_BYTES // max(1, size * _BYTES_A_KEY)))
    for low in range(0, SLOTS, step):
        parts = [file.range(run, low, min(SLOTS, low + step)) for file in files]
        if parts:
            keys, lows, numbers = (np.concatenate(columns) for columns in zip(*parts, strict=True))
            yield keys, lows, numbers


@numba.njit(cache=True, nogil=True)
def _join_equal(keys, lows, numbers, parent):  # type: ignore[no-untyped-def]
    for at in range(1, keys.size):
        if keys[at] == keys[at - 1] and lows[at] == lows[at - 1]:
            unite(parent, numbers[at - 1], numbers[at])


@numba.njit(cache=True, nogil=True)
def _join_alike(keys, numbers, sketches, same, group, least_same, least_leak):  # type: ignore[no-untyped-def]
    compared = 0
    start = 0
    while start < keys.size:
        end = start + 1
        while end < keys.size and keys[end] == keys[start]:
            end += 1
        for one in range(start, min(end, start + _ALL_PAIRS_UP_TO)):
            for other in range(one + 1, end):
                a, b = numbers[one], numbers[other]
                if root_of(same, a) == root_of(same, b):
                    continue
                compared += 1
                agreeing = _agreeing(sketches, a, b)
                if agreeing >= least_leak:
                    unite(group, a, b)
                if agreeing >= least_same:
                    unite(same, a, b)
        start = end
    return compared


@numba.njit(cache=True, nogil=True, inline="always")
def _agreeing(sketches, a, b):  # type: ignore[no-untyped-def]
    count = 0
    for k in range(sketches.shape[1]):
        count += sketches[a, k] == sketches[b, k]
    return count


def similarities(sketches_NK: np.ndarray, left_P: np.ndarray, right_P: np.ndarray) -> np.ndarray:
    """Estimated similarity (float [P]) of pairs of documents, given by their numbers."""
    agreeing = (sketches_NK[left_P] == sketches_NK[right_P]).sum(axis=1)
    return np.asarray(minhash.similarity(agreeing))
