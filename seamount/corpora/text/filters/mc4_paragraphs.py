"""mC4's rule for pages (arXiv 2010.11934, section 3.1): three lines of 200 characters or more."""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str, statistics: TextStatistics, *, lines: int = 3, characters: int = 200
) -> str | None:
    """Drop a text with fewer than `lines` lines of at least `characters` characters."""
    long = sum(len(line) >= characters for line in text.split("\n"))
    return "too few long lines" if long < lines else None
