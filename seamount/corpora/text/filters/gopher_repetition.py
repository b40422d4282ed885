"""Gopher's rules against repetition within a document (arXiv 2112.11446, Table A1).

A share of characters is one of all characters of the text. Lines and paragraphs repeat where all
their characters do; blank ones do not count. Repeated n-grams are counted as datatrove does: the
first occurrence is not a repeat, spaces count in the most frequent n-gram and not in the others.
"""

from __future__ import annotations

from seamount.corpora.text.filters._repeats import longest_repeat
from seamount.corpora.text.text_statistics import TextStatistics, measure


def reason(
    text: str,
    statistics: TextStatistics,
    *,
    paragraphs: float = 0.3,
    paragraph_characters: float = 0.2,
    lines: float = 0.3,
    line_characters: float = 0.2,
    top: tuple[float, ...] = (0.2, 0.18, 0.16),
    duplicate: tuple[float, ...] = (0.15, 0.14, 0.13, 0.12, 0.11, 0.1),
) -> str | None:
    """Drop a text that repeats itself.

    `top` are the limits of the most frequent 2-, 3- and 4-gram, `duplicate` those of repeated 5- to
    10-grams; a shorter list leaves the longer n-grams out.
    """
    counts = statistics.counts
    of_characters = statistics.of_characters
    if statistics.of_paragraphs(counts.duplicate_paragraphs) > paragraphs:
        return "repeated paragraphs"
    if of_characters(counts.duplicate_paragraph_characters) > paragraph_characters:
        return "characters in repeated paragraphs"
    if statistics.of_lines(counts.duplicate_lines) > lines:
        return "repeated lines"
    if of_characters(counts.duplicate_line_characters) > line_characters:
        return "characters in repeated lines"
    for (n, size), limit in zip(statistics.repetition.top.items(), top, strict=False):
        if of_characters(size) > limit:
            return f"one {n}-gram too often"
    for (n, size), limit in zip(statistics.repetition.duplicate.items(), duplicate, strict=False):
        if of_characters(size) > limit:
            return f"repeated {n}-grams"
    return None


def passage(text: str, reason: str) -> str:
    """The line, paragraph or n-gram that comes back."""
    if "paragraphs" in reason or "lines" in reason:
        return longest_repeat(text.split("\n\n" if "paragraphs" in reason else "\n"))
    repetition = measure(text.encode()).repetition
    n = next(n for n in range(2, 11) if f"{n}-gram" in reason)
    place = (repetition.top_place | repetition.duplicate_place)[n]
    return " ".join(text.split()[place : place + n])
