"""Word and line statistics of a text in one compiled pass, shared by all filters.

Words are runs of non-space, lines end at a line feed; spaces are the ASCII ones. Lengths of words
count characters, not bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

# Gopher's words (arXiv 2112.11446, A.1), as FNV-1a hashes of their lower-case bytes.
_GOPHER_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
_FNV_OFFSET, _FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


class _Counts(NamedTuple):
    words: int
    word_characters: int
    alphabetic_words: int
    stop_words: int
    hashes: int
    ellipses: int
    lines: int
    bullet_lines: int
    ellipsis_lines: int
    characters: int
    alphanumeric: int
    longest_line: int
    duplicate_lines: int
    duplicate_line_bytes: int


@dataclass(frozen=True)
class TextStatistics:
    """Counts of one text; fractions are of words, lines or bytes, 0 where there are none.

    `lines` counts lines with something on them; `stop_words` how many different ones of Gopher's
    eight occur; `duplicate_lines` the repeats of a line beyond its first.
    """

    size_bytes: int
    counts: _Counts

    @property
    def mean_word_length(self) -> float:
        """Characters a word."""
        return self.counts.word_characters / max(1, self.counts.words)

    def of_words(self, count: int) -> float:
        """`count` as a fraction of the words."""
        return count / max(1, self.counts.words)

    def of_lines(self, count: int) -> float:
        """`count` as a fraction of the lines that have something on them."""
        return count / max(1, self.counts.lines)

    def of_characters(self, count: int) -> float:
        """`count` as a fraction of the characters."""
        return count / max(1, self.counts.characters)


def _word_hash(word: str) -> int:
    value = 0xCBF29CE484222325
    for byte in word.encode():
        value = ((value ^ byte) * 0x100000001B3) % (1 << 64)
    return value


_STOP_HASHES = np.array([_word_hash(w) for w in _GOPHER_WORDS], dtype=np.uint64)


def measure(data: bytes) -> TextStatistics:
    """Statistics of a text given as UTF-8 bytes."""
    array = np.frombuffer(data, dtype=np.uint8)
    line_hashes = np.empty(data.count(b"\n") + 1, dtype=np.uint64)
    line_sizes = np.empty(line_hashes.size, dtype=np.int64)
    counts, lines = _scan(array, _STOP_HASHES, line_hashes, line_sizes)
    repeats, repeated_bytes = _repeats(line_hashes[:lines], line_sizes[:lines])
    return TextStatistics(len(data), _Counts._make((*counts, repeats, repeated_bytes)))


def _repeats(hashes: np.ndarray, sizes: np.ndarray) -> tuple[int, int]:
    first = np.unique(hashes, return_index=True)[1]
    return hashes.size - first.size, int(sizes.sum() - sizes[first].sum())


@numba.njit(cache=True, nogil=True)
def _scan(data: Any, stop_hashes: Any, line_hashes: Any, line_sizes: Any) -> Any:
    words = word_characters = alphabetic = hashes = ellipses = 0
    lines = bullets = ellipsis_lines = characters = 0
    longest: Any = 0
    alphanumeric: Any = 0
    stop_seen = np.zeros(stop_hashes.size, dtype=np.bool_)
    word_length: Any = 0
    dots = 0
    has_letter: Any = False
    word_hash = line_hash = _FNV_OFFSET
    line_start = 0
    line_first = np.uint8(0)
    last = before_last = third_last = np.uint8(0)  # of the line's last word
    for position in range(data.size + 1):
        at_end = position == data.size
        byte = np.uint8(10) if at_end else data[position]
        is_space = byte == 32 or 9 <= byte <= 13
        if not is_space:
            lower = byte + np.uint8(32) if 65 <= byte <= 90 else byte
            is_letter = 97 <= lower <= 122 or byte >= 128
            starts = (byte & 0xC0) != 0x80  # not a continuation byte of UTF-8
            if word_length == 0:
                last = before_last = third_last = np.uint8(0)
            word_length += starts
            characters += starts
            alphanumeric += starts and (is_letter or 48 <= byte <= 57)
            has_letter |= is_letter
            word_hash = (word_hash ^ np.uint64(lower)) * _FNV_PRIME
            line_hash = (line_hash ^ np.uint64(byte)) * _FNV_PRIME
            hashes += byte == 35
            dots = dots + 1 if byte == 46 else 0
            if dots == 3:
                ellipses, dots = ellipses + 1, 0
            ellipses += byte == 0xA6 and last == 0x80 and before_last == 0xE2
            if line_first == 0:
                line_first = byte
                if position + 2 < data.size and byte == 0xE2 and data[position + 1] == 0x80:
                    line_first = np.uint8(42) if data[position + 2] == 0xA2 else byte
            third_last, before_last, last = before_last, last, byte
            continue
        dots = 0
        characters += not at_end
        if word_length > 0:
            words += 1
            word_characters += word_length
            alphabetic += has_letter
            if word_length <= 4:
                for k in range(stop_hashes.size):
                    if stop_hashes[k] == word_hash:
                        stop_seen[k] = True
            line_hash = (line_hash ^ np.uint64(32)) * _FNV_PRIME
            word_length, has_letter, word_hash = 0, False, _FNV_OFFSET
        if byte == 10:
            longest = max(longest, position - line_start)
            if line_first != 0:
                bullets += line_first == 42 or line_first == 45
                three = last == 46 and before_last == 46 and third_last == 46
                mark = last == 0xA6 and before_last == 0x80 and third_last == 0xE2
                ellipsis_lines += three or mark
                line_hashes[lines] = line_hash
                line_sizes[lines] = position - line_start
                lines += 1
            line_start, line_first, line_hash = position + 1, np.uint8(0), _FNV_OFFSET
            last = before_last = third_last = np.uint8(0)
    stops = 0
    for k in range(stop_seen.size):
        stops += stop_seen[k]
    counts = (
        words, word_characters, alphabetic, stops, hashes, ellipses,
        lines, bullets, ellipsis_lines, characters, alphanumeric, longest,
    )  # fmt: skip
    return counts, lines
