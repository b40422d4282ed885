"""Gopher's quality rules for English prose (arXiv 2112.11446, A.1, with its thresholds).

Words are runs of non-space. Datatrove's own words are spaCy's, which are more and shorter where
signs touch letters, as in source code and formulas.
"""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(
    text: str,
    statistics: TextStatistics,
    *,
    words: int = 50,
    most_words: int = 100_000,
    mean_word: float = 3,
    most_mean_word: float = 10,
    symbols: float = 0.1,
    bullets: float = 0.9,
    ellipses: float = 0.3,
    alphabetic: float = 0.8,
    stop_words: int = 2,
) -> str | None:
    """Drop what does not look like English prose; `words` is the least number of words."""
    counts = statistics.counts
    if not words <= counts.words <= most_words:
        return "too few or too many words"
    if not mean_word <= statistics.mean_word_length <= most_mean_word:
        return "mean word length"
    if max(statistics.of_words(n) for n in (counts.hashes, counts.ellipses)) > symbols:
        return "symbols a word"
    if statistics.of_lines(counts.bullet_lines) > bullets:
        return "bullet lines"
    if statistics.of_lines(counts.ellipsis_lines) > ellipses:
        return "lines that end in an ellipsis"
    if statistics.of_words(counts.alphabetic_words) < alphabetic:
        return "words without a letter"
    if counts.stop_words < stop_words:
        return "no English stop words"
    return None
