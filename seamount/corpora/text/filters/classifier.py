"""The user's own quality classifier under the Pile's Pareto rule (arXiv 2101.00027, C.1; GPT-3,
arXiv 2005.14165, appendix A): a document is kept if a Pareto number exceeds 1 - score.
"""

from __future__ import annotations

from typing import Any

from seamount.core import storage
from seamount.corpora.text.filters import Rule
from seamount.corpora.text.quality import classifier as classifiers
from seamount.corpora.text.text_statistics import TextStatistics


def files(*, model: str, **_: Any) -> list[str]:
    """The model's description; it holds the digest of the weights."""
    return [storage.join(model, classifiers.DESCRIPTION)]


def prepare(*, model: str, alpha: float = 3.0, least: float = 0.0, seed: int = 0) -> Rule:
    """The rule with the model in the folder `model` (written by train_classifier).

    The number is drawn from (seed, document id) alone, so that neither order nor workers matter. A
    greater `alpha` drops more, `alpha: 0` draws nothing; a score below `least` is always dropped.
    """
    loaded = classifiers.load_classifier(model)

    def reason(text: str, statistics: TextStatistics, document_id: str = "") -> str | None:
        score = loaded.score(text)
        if score < least:
            return "score too low"
        kept = classifiers.draw(seed, document_id, alpha) > 1 - score
        return None if kept else "score below the draw"

    return reason
