"""Source files that are data or machine output (the thresholds of StarCoder's data, arXiv
2305.06161, section 3: longest line 1000, mean line 100, a quarter alphanumeric; and the Pile's
limit of 100,000 characters a file, appendix C).
"""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str,
    statistics: TextStatistics,
    *,
    characters: int = 100_000,
    longest_line: int = 1_000,
    mean_line: int = 100,
    alphanumeric: float = 0.25,
) -> str | None:
    """Drop what no person wrote or reads as code."""
    counts = statistics.counts
    if len(text) > characters:
        return "file too long"
    if counts.longest_line > longest_line:
        return "line too long"
    if statistics.size_bytes > mean_line * max(1, text.count("\n") + 1):
        return "mean line too long"
    if statistics.of_characters(counts.alphanumeric) < alphanumeric:
        return "too few letters and digits"
    return None
