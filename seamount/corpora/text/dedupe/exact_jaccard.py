"""The true similarity of two texts by plain sets: what the kernels of `minhash` only estimate.

Words and shingles are those stated in `minhash`, and nothing of its code is used, so that the one
can be judged by the other.
"""

from __future__ import annotations

import re

SHINGLE_WORDS = 5
_WORD = re.compile(rb"[a-z0-9_\x80-\xff]+")


def words(text: str) -> list[bytes]:
    """Runs of ASCII letters (in lower case), digits, underscores and non-ASCII characters."""
    return _WORD.findall(text.encode("utf-8", "replace").lower())  # of bytes only ASCII is lowered


def shingles(text: str) -> set[tuple[bytes, ...]]:
    """All runs of five words; the whole text where it has fewer; none where it has no word."""
    row = words(text)
    count = max(1, len(row) - SHINGLE_WORDS + 1) if row else 0
    return {tuple(row[at : at + SHINGLE_WORDS]) for at in range(count)}


def jaccard(left: str, right: str) -> float:
    """Shared shingles over all shingles of two texts; 0 where neither has a word."""
    a, b = shingles(left), shingles(right)
    return len(a & b) / len(a | b) if a or b else 0.0
