"""Repeated lines within a document (Gopher, arXiv 2112.11446, Table A1: 30 % of lines, 20 % of
characters; bytes are counted here).
"""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str, statistics: TextStatistics, *, lines: float = 0.3, share: float = 0.2
) -> str | None:
    """Drop a text with more than `lines` of its lines or `share` of its bytes in repeats."""
    counts = statistics.counts
    if statistics.of_lines(counts.duplicate_lines) > lines:
        return "repeated lines"
    if counts.duplicate_line_bytes > share * statistics.size_bytes:
        return "bytes in repeated lines"
    return None
