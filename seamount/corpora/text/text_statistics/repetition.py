"""Repeated word n-grams of a text (Gopher, arXiv 2112.11446, Table A1), in one compiled call.

An n-gram can only repeat where its (n-1)-gram does, so each length looks only at the places that
the one before left over: in prose few remain beyond the pairs. Words are compared by a 64-bit hash.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from seamount.corpora.text.text_statistics.scan import joined

TOP = (2, 3, 4)
DUPLICATE = (5, 6, 7, 8, 9, 10)


class Repetition(NamedTuple):
    """Characters in repeated n-grams.

    `top` maps n (2 to 4) to the characters of the most frequent n-gram (the first one of several),
    spaces between its words included, times how often it occurs; `duplicate` maps n (5 to 10) to
    the characters, spaces not counted, of n-grams that occurred before, none counted twice: the
    text is read from its start, and after a repeat the reading goes on behind it. `top_place` and
    `duplicate_place` map n to the first word of the first such n-gram (-1 where there is none).
    """

    top: dict[int, int]
    duplicate: dict[int, int]
    top_place: dict[int, int]
    duplicate_place: dict[int, int]


def count(word_hashes: np.ndarray, word_lengths: np.ndarray) -> Repetition:
    """Repetition in the words with these hashes (uint64 [W]) and lengths (int32 [W])."""
    sizes, places = _count(word_hashes, word_lengths)
    lengths = (*TOP, *DUPLICATE)
    size = dict(zip(lengths, sizes.tolist(), strict=True))
    place = dict(zip(lengths, places.tolist(), strict=True))
    return Repetition(
        {n: size[n] for n in TOP},
        {n: size[n] for n in DUPLICATE},
        {n: place[n] for n in TOP},
        {n: place[n] for n in DUPLICATE},
    )


@numba.njit(cache=True, nogil=True, inline="always")
def _length(word_lengths: Any, place: int, n: int) -> Any:
    total = np.int64(0)
    for k in range(place, place + n):
        total += word_lengths[k]
    return total


@numba.njit(cache=True, nogil=True)
def _slots(hashes: Any, keys: Any, counts: Any, slots: Any, bits: int) -> None:
    """Count every hash in a table that is empty at first; `slots` gets the place of each."""
    mask = (1 << bits) - 1
    for k in range(hashes.size):
        key = hashes[k] | np.uint64(1)  # 0 marks an empty place
        slot = np.int64(key >> np.uint64(64 - bits))
        while keys[slot] != 0 and keys[slot] != key:
            slot = (slot + 1) & mask
        keys[slot] = key
        counts[slot] += 1
        slots[k] = slot


@numba.njit(cache=True, nogil=True)
def _top(word_lengths: Any, places: Any, counts: Any, slots: Any, n: int) -> Any:
    """Characters of the most frequent n-gram times its count, and where it first stands."""
    best, where = 1, 0  # where none repeats, the first n-gram of the text is the top one
    for k in range(places.size):
        if counts[slots[k]] > best:
            best, where = counts[slots[k]], places[k]
    return best * (_length(word_lengths, where, n) + n - 1), where


@numba.njit(cache=True, nogil=True)
def _duplicate(word_lengths: Any, places: Any, counts: Any, slots: Any, n: int) -> Any:
    """Characters of repeats, skipping over each; `counts` is used up: a seen n-gram becomes 0."""
    total, where, free = np.int64(0), -1, 0
    for k in range(places.size):
        if places[k] < free or counts[slots[k]] == 1:
            continue
        if counts[slots[k]] > 0:
            counts[slots[k]] = -counts[slots[k]]
            continue
        total += _length(word_lengths, places[k], n)
        where = places[k] if where < 0 else where
        free = places[k] + n
    return total, where


@numba.njit(cache=True, nogil=True)
def _count(word_hashes: Any, word_lengths: Any) -> Any:
    sizes, found = np.zeros(9, np.int64), np.full(9, -1, np.int64)
    size = word_hashes.size
    places, hashes = np.arange(size), word_hashes.copy()
    slots = np.empty(size, np.int64)
    for n in range(2, 11):
        remaining = 0
        for k in range(places.size):  # each (n-1)-gram grows by the word behind it
            end = places[k] + n - 1
            if end < size:
                hashes[remaining] = joined(hashes[k], word_hashes[end])
                places[remaining] = places[k]
                remaining += 1
        places, hashes, slots = places[:remaining], hashes[:remaining], slots[:remaining]
        bits = 4
        while (1 << bits) * 3 < remaining * 4:
            bits += 1
        counts = np.zeros(1 << bits, np.int32)
        _slots(hashes, np.zeros(1 << bits, np.uint64), counts, slots, bits)
        repeated = 0
        for k in range(remaining):
            repeated += counts[slots[k]] > 1
        if n <= 4 and size >= n:
            sizes[n - 2], found[n - 2] = _top(word_lengths, places, counts, slots, n)
        elif n > 4 and repeated:
            sizes[n - 2], found[n - 2] = _duplicate(word_lengths, places, counts, slots, n)
        kept = 0
        for k in range(remaining):
            if abs(counts[slots[k]]) > 1:
                places[kept], hashes[kept] = places[k], hashes[k]
                kept += 1
        places, hashes, slots = places[:kept], hashes[:kept], slots[:kept]
    return sizes, found
