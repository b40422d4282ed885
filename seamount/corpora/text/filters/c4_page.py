"""C4's rules that drop a whole page (JMLR 21:140, section 2.2); its rules for lines are the edit
c4_lines, which belongs before this rule.

A sentence ends with a word in a sentence mark, closing quotes and brackets aside, and at the end of
a line; C4 itself uses a sentence splitter (nltk's punkt).
"""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics

_PLACEHOLDER = b"lorem ipsum"


def reason(text: str, statistics: TextStatistics, *, sentences: int = 5) -> str | None:
    """Drop a page with a curly bracket, placeholder text, or fewer than `sentences` sentences."""
    if "{" in text:
        return "curly bracket"
    if _PLACEHOLDER in text.encode("utf-8", "surrogatepass").lower():  # ASCII: three times as fast
        return "lorem ipsum"
    if statistics.counts.sentences < sentences:
        return "too few sentences"
    return None


def passage(text: str, reason: str) -> str:
    """The surroundings of the bracket or the placeholder."""
    wanted = {"curly bracket": "{", "lorem ipsum": _PLACEHOLDER.decode()}.get(reason)
    place = text.lower().find(wanted) if wanted else 0
    return text[max(0, place - 60) : place + 100]
