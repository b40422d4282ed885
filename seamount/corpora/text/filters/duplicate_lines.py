"""Repeated lines within a document (two rules of Gopher, arXiv 2112.11446, Table A1); the rule
gopher_repetition has all of that table.
"""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str, statistics: TextStatistics, *, lines: float = 0.3, share: float = 0.2
) -> str | None:
    """Drop a text with more than `lines` of its lines or `share` of its characters in repeats."""
    counts = statistics.counts
    if statistics.of_lines(counts.duplicate_lines) > lines:
        return "repeated lines"
    if statistics.of_characters(counts.duplicate_line_characters) > share:
        return "characters in repeated lines"
    return None
