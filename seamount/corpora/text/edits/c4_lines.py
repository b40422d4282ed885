"""C4's rules for lines (JMLR 21:140, section 2.2, and what its published code does besides)."""

from __future__ import annotations

import re

_CITATION = re.compile(r"\[\d*\]|\[edit\]|\[citation needed\]")
_END_MARKS = frozenset(".?!\"'")
_ELLIPSIS = "..."
_UNWANTED = re.compile(
    "javascript|terms of use|privacy policy|cookie policy|uses cookies|use of cookies|use cookies"
)
_RARE_WORDS = (b"javascript", b"terms of use", b"privacy policy", b"cookie")


def edit(
    text: str,
    *,
    words: int = 3,
    longest_word: int = 1_000,
    end_mark: bool = True,
    citations: bool = True,
) -> str:
    """Keep the lines that look like sentences, without space around them.

    A line goes if it has a word longer than `longest_word`, fewer than `words` words, no `end_mark`
    (FineWeb does without this rule), speaks of Javascript, or of terms of use, privacy or cookies.
    Wikipedia's `citations` are taken out first.
    """
    kept = []
    for raw in text.splitlines():
        line = raw.strip()
        source = line
        if citations and "[" in line:
            line = _CITATION.sub("", line)
        # The cheapest rule first; the order of the others is free too, since each takes the line.
        if end_mark and (line[-1:] not in _END_MARKS or line.endswith(_ELLIPSIS)):
            continue
        if len(source.split(None, words)) < words or _is_long(source, longest_word):
            continue
        kept.append(line)
    if _may_speak_of(text):
        kept = [line for line in kept if not _UNWANTED.search(line.lower())]
    return "\n".join(kept).strip()


def _is_long(line: str, longest_word: int) -> bool:
    return len(line) > longest_word and max(map(len, line.split())) > longest_word


def _may_speak_of(text: str) -> bool:
    """A quick look at the whole, since few texts speak of any of it."""
    lower = text.encode("utf-8", "surrogatepass").lower()
    return any(word in lower for word in _RARE_WORDS)
