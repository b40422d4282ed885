"""Finding what a rule against repetition speaks of."""

from __future__ import annotations

from collections.abc import Iterable


def longest_repeat(parts: Iterable[str]) -> str:
    """The longest part that stood before and is not blank; empty where none did."""
    seen: set[str] = set()
    best = ""
    for part in parts:
        if part in seen and len(part) > len(best) and part.strip():
            best = part
        seen.add(part)
    return best
