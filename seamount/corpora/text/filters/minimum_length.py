"""Too short for its kind (the Pile: EuroParl 200, PhilPapers 1000 characters; appendix C)."""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(text: str, statistics: TextStatistics, *, characters: int = 200) -> str | None:
    """Drop a text of fewer than `characters` characters."""
    return "too short" if len(text) < characters else None
