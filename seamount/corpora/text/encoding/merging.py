"""Byte-pair merges of one word, and tables that remember whole words; compiled.

A word is spelled as bytes; of all neighbouring pairs the one with the lowest rank (the leftmost of
equals) is merged, until none is left (Sennrich et al. 2016, arXiv 1508.07909).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LONGEST = 256  # bytes; a merge looks at every pair, so longer words go to the library
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX = np.uint64(0xFF51AFD7ED558CCD)
_NONE = np.int32(0x7FFFFFFF)


def pair_table(merges: list[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Open-addressed table of (left, right, merged) in order of rank.

    Keys uint64[slots], 0 where a slot is free, and int32[slots, 2] with rank and merged id.
    """
    slots = 1 << max(4, (2 * len(merges) + 1).bit_length())
    keys, values = np.zeros(slots, np.uint64), np.zeros((slots, 2), np.int32)
    if merges:
        _fill_pairs(keys, values, np.array(merges, np.int64))
    return keys, values


@numba.njit(cache=True)
def _fill_pairs(keys, values, merges):  # type: ignore[no-untyped-def]
    for rank in range(len(merges)):
        key = _pair_key(merges[rank, 0], merges[rank, 1])
        slot = _pair_slot(keys, key)
        if keys[slot] == 0:  # of a pair listed twice the library too keeps one: see `fits`
            keys[slot] = key
            values[slot, 0], values[slot, 1] = rank, merges[rank, 2]


@numba.njit(cache=True, inline="always")
def _pair_key(left, right):  # type: ignore[no-untyped-def]
    return (np.uint64(left) << np.uint64(32) | np.uint64(right)) + np.uint64(1)


@numba.njit(cache=True, inline="always")
def _pair_slot(keys, key):  # type: ignore[no-untyped-def]
    mask = np.uint64(keys.size - 1)
    slot = ((key * _MIX) >> np.uint64(29)) & mask
    while keys[slot] != 0 and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def merge(data, start, end, byte_ids, keys, values, ids):  # type: ignore[no-untyped-def]
    """Write the ids of the word data[start:end] into `ids`; returns how many they are."""
    count = end - start
    ranks = np.empty(count, np.int32)
    merged = np.empty(count, np.int32)
    for k in range(count):
        ids[k] = byte_ids[data[start + k]]
    for k in range(count - 1):
        ranks[k], merged[k] = _rank(ids[k], ids[k + 1], keys, values)
    while count > 1:
        best = 0
        for k in range(1, count - 1):
            if ranks[k] < ranks[best]:
                best = k
        if ranks[best] == _NONE:
            break
        ids[best] = merged[best]
        for k in range(best + 1, count - 1):
            ids[k] = ids[k + 1]
        for k in range(best + 1, count - 2):
            ranks[k], merged[k] = ranks[k + 1], merged[k + 1]
        count -= 1
        if best > 0:
            ranks[best - 1], merged[best - 1] = _rank(ids[best - 1], ids[best], keys, values)
        if best < count - 1:
            ranks[best], merged[best] = _rank(ids[best], ids[best + 1], keys, values)
    return count


@numba.njit(cache=True, inline="always")
def _rank(left, right, keys, values):  # type: ignore[no-untyped-def]
    key = _pair_key(left, right)
    slot = _pair_slot(keys, key)
    if keys[slot] != key:
        return _NONE, _NONE
    return values[slot, 0], values[slot, 1]


class WordTable:
    """Words with their ids, open-addressed; emptied when it is full.

    `slots` int64[slots, 4]: where a word begins in `letters`, its bytes, where its ids begin in
    `ids`, how many they are (0: a free slot); `hashes` uint64[slots]; `used` int64[3]: slots,
    letters and ids in use.
    """

    def __init__(self, slots: int = 1 << 17, letters: int = 0) -> None:
        self.hashes = np.zeros(slots, np.uint64)
        self.slots = np.zeros((slots, 4), np.int64)
        self.letters = np.empty(max(letters, slots * 8, LONGEST), np.uint8)
        self.ids = np.empty(max(slots * 4, LONGEST), np.int32)
        self.used = np.zeros(3, np.int64)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays, as the kernels take them."""
        return self.hashes, self.slots, self.letters, self.ids, self.used


def whole_word_table(words: list[tuple[bytes, int]]) -> WordTable:
    """A table of words of one id each; it is made large enough for all of them."""
    spelled = b"".join(word for word, _ in words)
    table = WordTable(1 << max(4, (4 * len(words)).bit_length()), len(spelled) + 1)
    if words:
        ends = np.cumsum([len(word) for word, _ in words])
        ids = np.array([index for _, index in words], np.int32)
        _fill_words(np.frombuffer(spelled, np.uint8), ends, ids, table.parts)
    return table


@numba.njit(cache=True)
def _fill_words(data, ends, ids, table):  # type: ignore[no-untyped-def]
    start = 0
    for k in range(len(ends)):
        value = word_hash(data, start, ends[k])
        slot = find(data, start, ends[k], value, table)
        remember(data, start, ends[k], value, slot, ids[k : k + 1], 1, table)
        start = ends[k]


@numba.njit(cache=True, nogil=True, inline="always")
def word_hash(data, start, end):  # type: ignore[no-untyped-def]
    """FNV-1a of a word's bytes, mixed."""
    value = _FNV_OFFSET
    for k in range(start, end):
        value = (value ^ np.uint64(data[k])) * _FNV_PRIME
    return value ^ (value >> np.uint64(32))


@numba.njit(cache=True, nogil=True, inline="always")
def find(data, start, end, value, table):  # type: ignore[no-untyped-def]
    """The slot of a word, or a free one where it is not known."""
    hashes, slots, letters, _, _ = table
    mask = np.uint64(hashes.size - 1)
    slot = value & mask
    while slots[slot, 3] > 0:
        if hashes[slot] == value and slots[slot, 1] == end - start:
            at = slots[slot, 0]
            same = True
            for k in range(end - start):
                if letters[at + k] != data[start + k]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + np.uint64(1)) & mask
    return slot


@numba.njit(cache=True, nogil=True)
def remember(data, start, end, value, slot, ids, count, table):  # type: ignore[no-untyped-def]
    """Put a word with `count` ids into the free `slot`; a table that is full is emptied first."""
    hashes, slots, letters, all_ids, used = table
    length = end - start
    full = used[0] * 2 >= hashes.size or used[1] + length > letters.size
    if full or used[2] + count > all_ids.size:
        slots[:, 3] = 0
        used[:] = 0
        slot = find(data, start, end, value, table)
    hashes[slot] = value
    slots[slot, 0], slots[slot, 1], slots[slot, 2], slots[slot, 3] = used[1], length, used[2], count
    letters[used[1] : used[1] + length] = data[start:end]
    all_ids[used[2] : used[2] + count] = ids[:count]
    used[0] += 1
    used[1] += length
    used[2] += count
