"""How well copies are found in a user's own data: edits planted, and joined pairs looked at again.

Each document of a sample gets an edited twin whose true similarity is counted by plain sets; the
documents and their twins then take the very way of a build (index, band files, matching). Recall
is the share of twins that were joined with their document. Precision looks the other way: of all
pairs that were joined, by a band or by steps, a sample is compared by plain sets. Where there are
few documents, each gets a new twin in several rounds, one a round, so that twins of one document
never meet.

Legend: N documents, R twins of a round, B bands.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np

from seamount.core import storage
from seamount.core.records import Document
from seamount.corpora.text.audit import planted_edits
from seamount.corpora.text.audit.proportions import bin_of, share
from seamount.corpora.text.audit.removed_pairs import removed_pairs
from seamount.corpora.text.audit.sampling import sample
from seamount.corpora.text.dedupe import exact_jaccard, matching, minhash
from seamount.corpora.text.stages import index, stage

RECALL_FROM, RECALL_BAR = 0.8, 0.95
FALSE_BELOW, FALSE_BAR = 0.3, 0.001
# The last bin is of twins that differ in no shingle, such as in case or line ends alone.
EDGES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.0)
BELOW = (0.3, 0.5, 0.7)
_PLANTS, _MOST_ROUNDS = 4_000, 10
_CHECKED, _WORST = 5_000, 5
_LOW_AIMS = 0.15  # this share of twins is made to be no copy


@dataclass(frozen=True)
class Plant:
    """A twin: the document it is of, the edit, what was aimed at and what it came to; whether the
    two share a band, and whether they were joined.
    """

    document: int
    kind: str
    aim: float
    similarity: float = 0.0
    met: bool = False
    joined: bool = False


@dataclass(frozen=True)
class _Joined:
    """The pairs joined in one run, numbered: each text with every earlier one of its set."""

    texts: Callable[[int], Document]
    order: np.ndarray
    position: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, copies: matching.Copies, first: int, texts: Callable[[int], Document]) -> _Joined:
        """Pairs with at least one text from number `first` on; of equal texts only one counts."""
        numbers = np.flatnonzero(copies.exact == np.arange(len(copies.exact)))
        order = numbers[np.argsort(copies.same[numbers], kind="stable")]
        sets = copies.same[order]
        starts = np.flatnonzero(np.r_[True, sets[1:] != sets[:-1]][: len(sets)])
        sizes = np.diff(np.r_[starts, len(sets)])
        position = np.arange(len(sets)) - np.repeat(starts, sizes)
        return cls(texts, order, position, np.cumsum(np.where(order >= first, position, 0)))

    @property
    def count(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def pair(self, number: int) -> tuple[Document, Document]:
        at = int(np.searchsorted(self.ends, number, side="right"))
        back = int(self.ends[at]) - number  # 1 .. position
        return self.texts(int(self.order[at - back])), self.texts(int(self.order[at]))


def dedupe_report(
    url: str, documents: int = 2_000, seed: int = 0, report: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Recall by similarity and by edit, and precision, on documents of `url`.

    `url` is a built corpus or files of any form; `report` is called once a twin. Result: sample
    {documents, of, cut, without_words}, rule, planted {pairs, unchanged}, recall (a share, see
    proportions.share, of the twins from RECALL_FROM to below 1, with bar), bins [{low, high, mean,
    met, theory, joined}], edits and components {name: {pairs, recall}}, precision {pairs, own,
    checked, below {"0.3": share}, bar, worst}, build (see removed_pairs), ok (None where too little
    was tried). Memory: the texts.
    """
    drawn = sample(url, documents, seed)
    texts = [d for d in drawn.documents if exact_jaccard.words(d.text)]
    with tempfile.TemporaryDirectory(prefix="seamount-report-") as folder:
        planted, joined, unchanged = _Report(folder, texts, seed, report).run()
    result = {
        "url": url,
        "seed": seed,
        "sample": {
            "documents": len(drawn.documents),
            "of": drawn.of,
            "cut": drawn.cut,
            "without_words": len(drawn.documents) - len(texts),
        },
        "rule": {
            "shingle_words": minhash.SHINGLE_WORDS,
            "bands": minhash.BANDS,
            "rows": minhash.ROWS,
            "same": matching.SAME,
        },
        "planted": {"pairs": len(planted), "unchanged": unchanged},
        "recall": {
            **_recall(p for p in planted if p.similarity < 1),
            "from": RECALL_FROM,
            "bar": RECALL_BAR,
        },
        "bins": _bins(planted),
        "edits": _parts(planted, lambda p: p.kind),
        "components": _parts(planted, lambda p: texts[p.document].component),
        "precision": _precision(joined, seed),
        "build": removed_pairs(url, seed, BELOW, _WORST),
    }
    return {**result, "ok": _ok(result)}


class _Report:
    def __init__(
        self, folder: str, texts: Sequence[Document], seed: int, report: Callable[[], object]
    ) -> None:
        self.folder, self.texts, self.seed, self.report = folder, texts, seed, report
        self.random = Random(f"plants\0{seed}")
        self.signer = minhash.Signer()
        self.vocabulary = self._vocabulary()
        self.unchanged = 0

    def run(self) -> tuple[list[Plant], list[_Joined], int]:
        planted: list[Plant] = []
        if not self.texts:
            return planted, [], 0
        own = self._index("own", self.texts)
        joined = [_Joined.of(self._find([own]), 0, self.texts.__getitem__)]
        keys_NB = self._keys(self.texts)
        for number in range(min(_MOST_ROUNDS, max(1, _PLANTS // len(self.texts)))):
            plants = list(self._plants(number))
            twins = [self._twin(plant) for plant in plants]
            copies = self._find([own, self._index(f"round-{number}", twins)])
            met_R = (self._keys(twins) == keys_NB[[p.document for p in plants]]).any(axis=1)
            same = copies.same
            for at, plant in enumerate(plants):
                both = same[plant.document] == same[len(self.texts) + at]
                planted.append(replace(plant, met=bool(met_R[at]), joined=bool(both)))
            joined.append(_Joined.of(copies, len(self.texts), self._reader(plants)))
        return planted, joined, self.unchanged

    def _vocabulary(self) -> list[str]:
        """Words as the documents have them, to insert: of each document a few."""
        found = []
        for document in self.texts:
            words = document.text.split()[:2_000]
            found += self.random.sample(words, min(20, len(words)))
        return [word[:40] for word in found] or ["word"]

    def _plants(self, number: int) -> Iterable[Plant]:
        kinds = list(planted_edits.EDITS)
        for n, document in enumerate(self.texts):
            self.report()
            low = self.random.random() < _LOW_AIMS
            aim = self.random.uniform(0.05, 0.5) if low else self.random.uniform(0.5, 1.0)
            plant = Plant(n, kinds[(n + number) % len(kinds)], aim)
            text = self._twin(plant).text
            if text == document.text:
                self.unchanged += 1
                continue
            yield replace(plant, similarity=exact_jaccard.jaccard(document.text, text))

    def _twin(self, plant: Plant) -> Document:
        document = self.texts[plant.document]
        seed = f"{self.seed}\0{plant.document}"
        text = planted_edits.plant(document.text, plant.kind, plant.aim, seed, self.vocabulary)
        return replace(document, id=f"{document.id} ({plant.kind})", text=text)

    def _reader(self, plants: Sequence[Plant]) -> Callable[[int], Document]:
        size = len(self.texts)
        return lambda n: self.texts[n] if n < size else self._twin(plants[n - size])

    def _index(self, name: str, documents: Sequence[Document]) -> stage.Done:
        """What the clean stage of a build keeps of the documents."""
        folder = storage.join(self.folder, name)
        with index.writer(folder, near=True) as writer:
            for document in documents:
                writer.add(document, _bytes(document), name)
        return stage.Done(folder, writer.documents, writer.bytes, False)

    def _find(self, done: Sequence[stage.Done]) -> matching.Copies:
        files = index.open_bands(done)
        with matching.opened_sketches(files, self.folder) as sketches:
            return matching.find(files, sketches)

    def _keys(self, documents: Sequence[Document]) -> np.ndarray:
        keys = [minhash.band_keys(self.signer.sign(_bytes(d))) for d in documents]
        return np.array(keys, np.uint64).reshape(-1, minhash.BANDS)


def _bytes(document: Document) -> bytes:
    return document.text.encode("utf-8", "replace")


def _recall(planted: Iterable[Plant]) -> dict[str, Any]:
    found = [plant.joined for plant in planted if plant.similarity >= RECALL_FROM]
    return share(sum(found), len(found))


def _bins(planted: Iterable[Plant]) -> list[dict[str, Any]]:
    bins: list[list[Plant]] = [[] for _ in EDGES[1:]]
    for plant in planted:
        bins[bin_of(plant.similarity, EDGES)].append(plant)
    return [
        {
            "low": EDGES[n],
            "high": EDGES[n + 1],
            "mean": float(np.mean([p.similarity for p in found])) if found else None,
            "met": share(sum(p.met for p in found), len(found)),
            "theory": float(np.mean([minhash.candidate_probability(p.similarity) for p in found]))
            if found
            else None,
            "joined": share(sum(p.joined for p in found), len(found)),
        }
        for n, found in enumerate(bins)
    ]


def _parts(planted: Iterable[Plant], name: Callable[[Plant], str]) -> dict[str, Any]:
    parts: dict[str, list[Plant]] = {}
    for plant in planted:
        parts.setdefault(name(plant), []).append(plant)
    return {
        key: {"pairs": len(found), "recall": _recall(found)} for key, found in sorted(parts.items())
    }


def _precision(joined: Sequence[_Joined], seed: int) -> dict[str, Any]:
    ends = list(accumulate(run.count for run in joined))
    total = ends[-1] if ends else 0
    drawn = Random(f"pairs\0{seed}").sample(range(total), min(_CHECKED, total))
    below: Counter[float] = Counter()
    found = []
    for number in drawn:
        run = bisect_right(ends, number)
        left, right = joined[run].pair(number - (ends[run - 1] if run else 0))
        similarity = exact_jaccard.jaccard(left.text, right.text)
        below.update(limit for limit in BELOW if similarity < limit)
        found.append((similarity, number, left, right))
    worst = sorted(found, key=lambda f: f[:2])[:_WORST]
    return {
        "pairs": total,
        "own": joined[0].count if joined else 0,
        "checked": len(drawn),
        "below": {str(limit): share(below[limit], len(drawn)) for limit in BELOW},
        "bar": FALSE_BAR,
        "worst": [
            {"similarity": s, "ids": [a.id, b.id], "components": [a.component, b.component]}
            for s, _, a, b in worst
        ],
    }


def _ok(result: dict[str, Any]) -> bool | None:
    """Whether both bars are met; None where nothing tells."""
    recall, wrong = result["recall"]["share"], result["precision"]["below"]["0.3"]["share"]
    if recall is None or wrong is None:
        return None
    removed = (result["build"] or result["precision"])["below"]["0.3"]["share"]
    return bool(recall >= RECALL_BAR and max(wrong, removed or 0.0) <= FALSE_BAR)
