"""MinHash signatures of word 5-grams, from UTF-8 bytes in one compiled pass.

A word is a run of ASCII letters, digits, underscores and non-ASCII characters, with ASCII letters
in lower case. A text of fewer than five words is one shingle; a text without words has none and
is never a near duplicate.

Of a signature two things are kept: a 64-bit key a band, by which likely pairs meet, and its lowest
bytes, by which they are compared (b-bit minwise hashing, Li and Koenig 2010, with b = 8).

Legend: K hashes a signature (BANDS x ROWS), B bands, N documents.
"""

from __future__ import annotations

import math

import numba
import numpy as np

SHINGLE_WORDS = 5
BANDS, ROWS = 20, 6
HASHES = BANDS * ROWS
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
_MIX_1, _MIX_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)  # MurmurHash3
_NONE = np.uint32(0xFFFFFFFF)
_CHANCE = 1 / 256


def candidate_probability(similarity: float) -> float:
    """Chance that two texts of this Jaccard similarity share a band: 1 - (1 - s^rows)^bands."""
    return 1 - (1 - similarity**ROWS) ** BANDS


def permutations() -> tuple[np.ndarray, np.ndarray]:
    """Odd multipliers and offsets of the K hash functions; the same on every machine."""
    draw = np.random.Generator(np.random.PCG64(20)).integers(0, 1 << 32, (2, HASHES), np.uint64)
    multipliers, offsets = draw.astype(np.uint32)
    return multipliers | np.uint32(1), offsets


class Signer:
    """Computes signatures; holds the hash functions."""

    def __init__(self) -> None:
        self.multipliers, self.offsets = permutations()

    def sign(self, data: bytes) -> np.ndarray:
        """Signature (uint32 [K]) of a text given as UTF-8 bytes; all ones where it has no word."""
        return _signature(np.frombuffer(data, np.uint8), self.multipliers, self.offsets)


def has_words(signature_K: np.ndarray) -> bool:
    """Whether a signature belongs to a text with at least one word."""
    return bool((signature_K != _NONE).any())


def band_keys(signature_K: np.ndarray, bands: int = BANDS, rows: int = ROWS) -> np.ndarray:
    """One 64-bit key (uint64 [bands]) for the rows of each band."""
    return _band_keys(signature_K, bands, rows)


def sketch(signature_K: np.ndarray) -> np.ndarray:
    """The lowest byte of every hash (uint8 [K])."""
    return signature_K.astype(np.uint8)


def similarity(agreeing: int | np.ndarray) -> float | np.ndarray:
    """Estimate of the Jaccard similarity where so many of K sketch bytes agree; not below 0.

    One of 256 differing hashes agrees in its lowest byte by chance, which is taken off.
    """
    return np.maximum(0.0, (agreeing / HASHES - _CHANCE) / (1 - _CHANCE))


def least_agreeing(least: float) -> int:
    """How many sketch bytes must agree for an estimated similarity of at least `least`."""
    return math.ceil((least * (1 - _CHANCE) + _CHANCE) * HASHES - 1e-9)


@numba.njit(cache=True, nogil=True)
def _band_keys(signature, bands, rows):  # type: ignore[no-untyped-def]
    keys = np.empty(bands, dtype=np.uint64)
    for band in range(bands):
        value = _FNV_OFFSET + np.uint64(band)
        for row in range(band * rows, (band + 1) * rows):
            value = (value ^ np.uint64(signature[row])) * _MIX_1
            value ^= value >> np.uint64(29)
        keys[band] = (value ^ (value >> np.uint64(33))) * _MIX_2
    return keys


@numba.njit(cache=True, nogil=True)
def _signature(data, multipliers, offsets):  # type: ignore[no-untyped-def]
    signature = np.full(multipliers.size, 0xFFFFFFFF, dtype=np.uint32)
    recent = np.zeros(SHINGLE_WORDS, dtype=np.uint64)  # hashes of the last words, as a ring
    words = 0
    word = _FNV_OFFSET
    inside = False
    for position in range(data.size + 1):
        byte = np.uint8(32) if position == data.size else data[position]
        if 65 <= byte <= 90:
            byte += np.uint8(32)
        if byte >= 128 or 97 <= byte <= 122 or 48 <= byte <= 57 or byte == 95:
            word = (word ^ np.uint64(byte)) * _FNV_PRIME
            inside = True
        elif inside:
            recent[words % SHINGLE_WORDS] = word
            words += 1
            if words >= SHINGLE_WORDS:
                _update(signature, _shingle(recent, words, SHINGLE_WORDS), multipliers, offsets)
            word, inside = _FNV_OFFSET, False
    if 0 < words < SHINGLE_WORDS:
        _update(signature, _shingle(recent, words, words), multipliers, offsets)
    return signature


@numba.njit(cache=True, nogil=True, inline="always")
def _shingle(recent, words, count):  # type: ignore[no-untyped-def]
    value = _FNV_OFFSET
    for back in range(count, 0, -1):
        value = (value ^ recent[(words - back) % SHINGLE_WORDS]) * _MIX_1
        value ^= value >> np.uint64(32)
    value = (value ^ (value >> np.uint64(33))) * _MIX_2
    return np.uint32(value >> np.uint64(32))


@numba.njit(cache=True, nogil=True, inline="always")
def _update(signature, shingle, multipliers, offsets):  # type: ignore[no-untyped-def]
    for k in range(signature.size):
        value = np.uint32(multipliers[k] * shingle + offsets[k])
        signature[k] = min(signature[k], value)
