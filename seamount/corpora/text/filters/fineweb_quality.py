"""FineWeb's own rules (arXiv 2406.17557, section 3.6; thresholds of datatrove's FineWeb recipe)."""

from __future__ import annotations

from seamount.corpora.text.filters._repeats import longest_repeat
from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str,
    statistics: TextStatistics,
    *,
    terminated: float = 0.12,
    short: float = 0.67,
    short_length: int = 30,
    duplicate_characters: float = 0.01,
    newlines: float = 0.3,
) -> str | None:
    """Drop what looks like a list or a menu.

    `terminated` is the least share of lines that end in a sentence mark, `short` the greatest share
    of lines of at most `short_length` characters, `duplicate_characters` the greatest share of
    characters, line feeds not counted, in lines that stood before; `newlines` the most line feeds
    a word.
    """
    counts = statistics.counts
    if statistics.of_lines(counts.terminated_lines) < terminated:
        return "lines without an end mark"
    if statistics.of_lines(int((statistics.line_lengths <= short_length).sum())) > short:
        return "short lines"
    visible = max(1, counts.characters - counts.newlines)
    if counts.duplicate_line_characters / visible > duplicate_characters:
        return "characters in repeated lines"
    if statistics.of_words(counts.newlines) > newlines:
        return "line feeds a word"
    return None


def passage(text: str, reason: str) -> str:
    """The longest line that comes back, or the first lines."""
    lines = text.split("\n")
    if reason == "characters in repeated lines":
        return longest_repeat(lines)
    return "\n".join(lines[:6])
