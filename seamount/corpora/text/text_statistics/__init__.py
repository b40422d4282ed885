"""Counts of a text in one compiled pass, shared by all filters; what is dear waits to be asked for.

Words are what `str.split()` gives, lines what splitting at line feeds gives, and paragraphs the
runs of lines between blank ones; a blank line holds nothing but space. Letters, digits and spaces
are those of Unicode. All lengths are in characters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seamount.corpora.text.text_statistics import characters, repetition
from seamount.corpora.text.text_statistics.scan import scan

# Gopher's words (arXiv 2112.11446, A.1).
_GOPHER_WORDS = ("the", "be", "to", "of", "and", "that", "have", "with")
_LONG_TEXT = 1 << 20


class Counts(NamedTuple):
    """What one pass counts.

    `lines` and `paragraphs` are those with something on them; `stop_words` is how many different
    ones of Gopher's eight occur; `duplicate_lines` are the repeats of a line beyond its first, of
    exactly the same characters, and `duplicate_line_characters` their lengths together; the same
    for paragraphs. A sentence has a letter or digit and ends with a word in a sentence mark
    (closing quotes and brackets aside), at the latest with its line.
    """

    characters: int
    newlines: int
    alphanumeric: int
    words: int
    word_characters: int
    alphabetic_words: int
    stop_words: int
    hashes: int
    ellipses: int
    sentences: int
    lines: int
    longest_line: int
    bullet_lines: int
    ellipsis_lines: int
    terminated_lines: int
    duplicate_lines: int
    duplicate_line_characters: int
    paragraphs: int
    duplicate_paragraphs: int
    duplicate_paragraph_characters: int


@dataclass(frozen=True)
class TextStatistics:
    """Counts of one text; fractions are of words, lines or characters, 0 where there are none.

    `line_lengths` (int32) has the characters of each line that is not blank; `word_hashes`
    (uint64) and `word_lengths` (int32) have a value a word.
    """

    size_bytes: int
    counts: Counts
    line_lengths: np.ndarray
    word_hashes: np.ndarray
    word_lengths: np.ndarray

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

    def of_paragraphs(self, count: int) -> float:
        """`count` as a fraction of the paragraphs."""
        return count / max(1, self.counts.paragraphs)

    def of_characters(self, count: int) -> float:
        """`count` as a fraction of the characters."""
        return count / max(1, self.counts.characters)

    @cached_property
    def repetition(self) -> repetition.Repetition:
        """Repeated word n-grams; counted when first asked for."""
        return repetition.count(self.word_hashes, self.word_lengths)


def _most_words(data: bytes) -> int:
    """No fewer than the words of a text: half its bytes, or for a long one, where the arrays would
    be many times the text, one more than the bytes with which a space can begin.
    """
    if len(data) < _LONG_TEXT:
        return (len(data) + 1) // 2
    array = np.frombuffer(data, np.uint8)
    return 1 + int(sum(np.count_nonzero(part) for part in (array <= 32, *_begins_space(array))))


def _begins_space(array: np.ndarray) -> list[np.ndarray]:
    return [array == byte for byte in (0xC2, 0xE1, 0xE2, 0xE3)]  # U+0085 to U+3000


def measure(data: bytes) -> TextStatistics:
    """Statistics of a text given as UTF-8 bytes."""
    lines = data.count(b"\n") + 1
    words = _most_words(data)
    line_lengths, word_lengths = np.empty(lines, np.int32), np.empty(words, np.int32)
    word_hashes = np.empty(words, np.uint64)
    scanned = scan(
        np.frombuffer(data, np.uint8),
        characters.table(),
        characters.packed(_GOPHER_WORDS),
        (word_hashes, word_lengths),
        (np.empty(lines, np.uint64), line_lengths),
    )
    counts = Counts._make(scanned)
    return TextStatistics(
        len(data),
        counts,
        line_lengths[: counts.lines],
        word_hashes[: counts.words],
        word_lengths[: counts.words],
    )
