"""Gopher's quality rules for English prose (arXiv 2112.11446, A.1, with its thresholds)."""

from __future__ import annotations

from seamount.corpora.text.text_statistics import TextStatistics


def reason(text: str, statistics: TextStatistics, *, words: int = 50) -> str | None:
    """Drop what does not look like English prose; `words` is the least number of words."""
    counts = statistics.counts
    if not words <= counts.words <= 100_000:
        return "too few or too many words"
    if not 3 <= statistics.mean_word_length <= 10:
        return "mean word length"
    if statistics.of_words(counts.hashes) > 0.1 or statistics.of_words(counts.ellipses) > 0.1:
        return "symbols a word"
    if statistics.of_lines(counts.bullet_lines) > 0.9:
        return "bullet lines"
    if statistics.of_lines(counts.ellipsis_lines) > 0.3:
        return "lines that end in an ellipsis"
    if statistics.of_words(counts.alphabetic_words) < 0.8:
        return "words without a letter"
    if counts.stop_words < 2:
        return "no English stop words"
    return None
