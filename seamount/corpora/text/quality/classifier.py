"""A quality classifier trained by the user: good texts against others, by words and word pairs.

Logistic regression over hashed 1- and 2-grams of words, as the linear classifiers of GPT-3 and the
Pile. A model is a folder with weights.npz (numbers only) and classifier.json.

Legend: B buckets of the hash, N documents.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError

BUCKETS = 1 << 18
WEIGHTS, DESCRIPTION = "weights.npz", "classifier.json"
FORMAT = 1
# The window of a text that the Pile's classifier reads, and the least it trains on.
_FIRST, _LAST, _LEAST = 4_000, 1_500, 100
_WORD = re.compile(r"\w+")
_HELD_OUT = 10


def window(text: str) -> str:
    """The part of a text that is judged (the Pile's code: `[:4000][-1500:]`, one line)."""
    return text[:_FIRST][-_LAST:].replace("\n", " ")


def features(text: str) -> tuple[np.ndarray, np.ndarray]:
    """(buckets int64, values float32 of length 1 together) of the words and word pairs."""
    import xxhash

    words = _WORD.findall(window(text).lower())
    grams = [*words, *(f"{a} {b}" for a, b in pairwise(words))]
    hashes = [xxhash.xxh3_64_intdigest(gram.encode("utf-8", "replace")) % BUCKETS for gram in grams]
    buckets, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    norm = math.sqrt(float((counts.astype(np.float64) ** 2).sum())) or 1.0
    return buckets, (counts / norm).astype(np.float32)


@dataclass(frozen=True)
class Classifier:
    """Weights (float32 [B]) and bias of a trained model."""

    weights_B: np.ndarray
    bias: float

    def score(self, text: str) -> float:
        """Probability (0 to 1) that a text is one of the good ones."""
        buckets, values = features(text)
        logit = float(self.weights_B[buckets].astype(np.float64) @ values) + self.bias
        return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def keep_probability(score: float, alpha: float) -> float:
    """Chance that a document of this score is kept by `draw(...) > 1 - score`."""
    return float((2 - score) ** -alpha)


def draw(seed: int, document_id: str, alpha: float) -> float:
    """A Pareto number (numpy's `pareto(alpha)`, which begins at 0) that depends on nothing else."""
    digest = hashlib.blake2b(f"{seed}\0{document_id}".encode("utf-8", "replace"), digest_size=8)
    uniform = (int.from_bytes(digest.digest(), "big") + 1) / (1 << 64)  # in (0, 1]
    return math.inf if alpha == 0 else uniform ** (-1 / alpha) - 1


def train_classifier(
    positives: Iterable[str], negatives: Iterable[str], out: str, *, most: int = 200_000
) -> dict[str, Any]:
    """Train on texts of both kinds (at most `most` each) and write the model folder `out`.

    Every tenth text is held out to measure with. Texts of up to 100 characters are left out.
    Returns what classifier.json holds: documents, accuracy and area under the ROC curve on the held
    out, and the share of held-out negatives that each Pareto alpha keeps. Needs scikit-learn.
    Raises UserError where one side has fewer than 20 texts.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    sides = [_usable(texts, most) for texts in (negatives, positives)]
    if min(map(len, sides)) < 2 * _HELD_OUT:
        raise UserError(
            f"a classifier needs at least {2 * _HELD_OUT} texts of more than {_LEAST} characters "
            f"on each side, given {len(sides[1])} positive and {len(sides[0])} negative ones"
        )
    labels_N = np.repeat([0, 1], [len(side) for side in sides])
    held_N = np.concatenate([np.arange(len(side)) % _HELD_OUT == 0 for side in sides])
    matrix_NB = _matrix(sides[0] + sides[1])
    model = LogisticRegression(C=10.0, max_iter=1_000, class_weight="balanced")
    model.fit(matrix_NB[~held_N], labels_N[~held_N])
    classifier = Classifier(model.coef_[0].astype(np.float32), float(model.intercept_[0]))
    scores = model.predict_proba(matrix_NB[held_N])[:, 1]
    truth = labels_N[held_N]
    description = {
        "documents": {"positive": len(sides[1]), "negative": len(sides[0])},
        "held_out": {
            "documents": int(held_N.sum()),
            "accuracy": float(((scores > 0.5) == truth).mean()),
            "roc_auc": float(roc_auc_score(truth, scores)),
        },
        "negatives_kept": {
            str(alpha): float(np.mean([keep_probability(s, alpha) for s in scores[truth == 0]]))
            for alpha in range(1, 10)
        },
    }
    return _save(classifier, description, out)


def _usable(texts: Iterable[str], most: int) -> list[str]:
    return list(islice((window(t) for t in texts if len(t) > _LEAST), most))


def _matrix(texts: Sequence[str]) -> Any:
    from scipy.sparse import csr_matrix

    rows = [features(text) for text in texts]
    ends = np.cumsum([0, *(len(buckets) for buckets, _ in rows)])
    columns = np.concatenate([buckets for buckets, _ in rows])
    values = np.concatenate([values for _, values in rows])
    return csr_matrix((values, columns, ends), shape=(len(rows), BUCKETS))


def _save(classifier: Classifier, description: dict[str, Any], out: str) -> dict[str, Any]:
    packed = io.BytesIO()
    np.savez(packed, weights=classifier.weights_B, bias=np.float64(classifier.bias))
    content = packed.getvalue()
    with storage.atomic_write(storage.join(out, WEIGHTS)) as stream:
        stream.write(content)
    digest = hashlib.sha256(content).hexdigest()
    described = {"format": FORMAT, "buckets": BUCKETS, "sha256": digest, **description}
    storage.write_json(storage.join(out, DESCRIPTION), described)
    return described


def load_classifier(url: str) -> Classifier:
    """The model in a folder; raises UserError where there is none, CorruptData where it is not
    what was written.
    """
    described = storage.join(url, DESCRIPTION)
    if not storage.exists(described):
        raise UserError(
            f"no classifier in {url}: train one with train_classifier(..., out={url!r})"
        )
    description = storage.read_json(described)
    content = storage.read_bytes(storage.join(url, WEIGHTS))
    if hashlib.sha256(content).hexdigest() != description.get("sha256"):
        raise CorruptData(f"{storage.join(url, WEIGHTS)} is not the file its description names")
    try:
        arrays = np.load(io.BytesIO(content), allow_pickle=False)
        weights_B, bias = arrays["weights"], float(arrays["bias"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptData(f"{storage.join(url, WEIGHTS)} does not hold weights: {error}") from error
    if weights_B.shape != (BUCKETS,) or description.get("format") != FORMAT:
        raise CorruptData(f"{url} is a classifier of another format than {FORMAT}")
    return Classifier(weights_B.astype(np.float32), bias)
