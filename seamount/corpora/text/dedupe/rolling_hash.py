"""Hashes of every stretch of a text, from one pass over its bytes.

Polynomials modulo the prime 2^61 - 1 (Karp and Rabin 1987), with two bases, drawn once and fixed:
that of bytes i to j is P[j] - P[i] * base^(j - i), where P are those of the prefixes. Digits are
bytes + 1, so that stretches of different length differ as well. Two different stretches of n bytes
have both hashes in common for at most (n / 2^61)^2 of all pairs of bases.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_PRIME = np.uint64((1 << 61) - 1)
_ONE, _THREE, _BITS = np.uint64(1), np.uint64(3), np.uint64(61)
# random.Random(61).randrange(2**60, 2**61 - 1), twice
_BASES = np.array([1362413321186622087, 1402843794231220577], np.uint64)


def powers(longest: int) -> np.ndarray:
    """Both bases to the powers 0 to `longest` (uint64 [2, longest + 1])."""
    rows = [[pow(base, n, int(_PRIME)) for n in range(longest + 1)] for base in _BASES.tolist()]
    return np.array(rows, np.uint64)


@intrinsic
def _high_half(_: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of a product, which numba has no name for."""

    def build(__: Any, builder: Any, ___: Any, given: Any) -> Any:
        wide = ir.IntType(128)
        left, right = (builder.zext(value, wide) for value in given)
        upper = builder.lshr(builder.mul(left, right), ir.Constant(wide, 64))
        return builder.trunc(upper, ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), build


@numba.njit(cache=True, nogil=True)
def _times(a, b):  # type: ignore[no-untyped-def]
    low, high = a * b, _high_half(a, b)
    sum_ = (low & _PRIME) + ((low >> _BITS) | (high << _THREE))  # 2^61 is 1
    return sum_ - _PRIME if sum_ >= _PRIME else sum_


@numba.njit(cache=True, nogil=True)
def hash_prefixes(text, start, end, table, prefixes):  # type: ignore[no-untyped-def]
    """Set prefixes[:, n] to the hashes of the first n bytes of text[start:end], for all n."""
    base_1, base_2 = table[0, 1], table[1, 1]
    one = two = np.uint64(0)
    prefixes[0, 0] = prefixes[1, 0] = one
    for at in range(start, end):
        digit = np.uint64(text[at]) + _ONE
        one, two = _times(one, base_1) + digit, _times(two, base_2) + digit
        one = one - _PRIME if one >= _PRIME else one
        two = two - _PRIME if two >= _PRIME else two
        prefixes[0, at - start + 1], prefixes[1, at - start + 1] = one, two


@numba.njit(cache=True, nogil=True)
def hash_stretch(prefixes, which, start, size, table):  # type: ignore[no-untyped-def]
    """Hash 0 or 1 of `size` bytes from `start` on, counted from where the prefixes begin."""
    before = _times(prefixes[which, start], table[which, size])
    after = prefixes[which, start + size]
    return after - before if after >= before else after + _PRIME - before
