"""Documents that hold a passage of a benchmark: shared 13-grams of words (GPT-3, arXiv 2005.14165,
appendix C; the Pile, arXiv 2101.00027, appendix C).
"""

from __future__ import annotations

from typing import Any

from seamount.corpora.text.filters import Rule
from seamount.corpora.text.quality import ngram_index
from seamount.corpora.text.text_statistics import TextStatistics


def files(*, benchmarks: list[str], **_: Any) -> list[str]:
    """The benchmark files."""
    return [benchmarks] if isinstance(benchmarks, str) else list(benchmarks)


def prepare(*, benchmarks: list[str], n: int = ngram_index.NGRAM) -> Rule:
    """Drop texts that share `n` words in a row with an item of `benchmarks` (.jsonl, .json, .txt).

    What only wants to be told uses ngram_index.NgramIndex.find.
    """
    index = ngram_index.build_index(files(benchmarks=benchmarks), n)

    def reason(text: str, statistics: TextStatistics, document_id: str = "") -> str | None:
        matches = index.find(text)
        return f"{n} words of {matches[0].benchmark}" if matches else None

    return reason
