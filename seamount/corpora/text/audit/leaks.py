"""What of the held-out documents stands in train as well: for each one the train document nearest.

The same 120 hashes as in a build are cut into 40 bands of 3, which lets pairs meet that the build's
20 bands of 6 let pass: of pairs at 0.5 some 99.5 %, at 0.3 two in three. Train is read as a
stream; of the held-out
documents about 2 KB each are in memory. The likest pairs are then compared in full.

Legend: H held-out documents with words, K hashes, B bands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import xxhash

from seamount.core.errors import UserError
from seamount.corpora.text import formats, located, manifest
from seamount.corpora.text.audit.proportions import bin_of
from seamount.corpora.text.dedupe import exact_jaccard, minhash
from seamount.corpora.text.located import Located
from seamount.corpora.text.ranges import split_of

BANDS, ROWS = 40, 3
HELD_OUT = ("val", "test")
EDGES = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_COMPARED = 2_000  # pairs compared in full; beyond them the estimate stands
_WORTH_COMPARING = 0.2


@dataclass(frozen=True)
class _Place:
    """A document and where it stands, without its text."""

    id: str
    component: str
    split: str
    shard: str
    line: int


def meet_probability(similarity: float) -> float:
    """Chance that a pair of this similarity is looked at: 1 - (1 - s^3)^40."""
    return float(1 - (1 - similarity**ROWS) ** BANDS)


def leaks(url: str, worst: int = 10, report: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """For every document of val and test of `url` the most similar one in train.

    `url` is a built corpus or a folder laid out like one (train/, val.jsonl.zst, test.jsonl.zst);
    `report` is called once a document. Result: held_out {val, test}, train (documents), bands,
    rows, bins [{low, high, documents}] by the similarity of the nearest, components {name: counts
    in the order of bins}, exact (held-out documents whose very text is in train), compared (pairs
    whose similarity is exact, the likest; of the others it is an estimate with a standard error of
    0.05 at most), worst [{similarity, exact: whether compared in full, held_out, train: {id,
    component, split, shard, line}}]. Raises UserError where nothing is held out.
    """
    held = _HeldOut.read(url, report)
    if not held.places:
        raise UserError(f"{url} has no documents in val or test: nothing is held out")
    train = nearest(held, url, report)
    pairs = _Pairs(url, held, train)
    compared = pairs.compare()
    return {
        "url": url,
        "held_out": {name: sum(p.split == name for p in held.places) for name in HELD_OUT},
        "train": train.documents,
        "bands": BANDS,
        "rows": ROWS,
        **_counts(held, pairs.similarity),
        "exact": int(train.equal.sum()),
        "compared": compared,
        "worst": pairs.worst(worst),
    }


def documents_of(url: str, split: str) -> Iterator[Located]:
    """Documents of one split, of a built corpus or of files laid out like one."""
    if manifest.is_corpus(url):
        for shard in manifest.load_manifest(url)["shards"]:
            if shard["split"] == split:
                yield from located.in_shard(url, shard["path"])
        return
    for file in formats.list_inputs(url):
        if split_of(file, url) == split:
            yield from located.in_file(file, file)


def _place(one: Located, split: str) -> _Place:
    return _Place(one.document.id, one.document.component, split, one.shard, one.line)


@dataclass(frozen=True)
class _HeldOut:
    """The held-out documents: places, digests of their texts, signatures [H, K] and the sorted keys
    of each band [B, H] with the document of each.
    """

    places: list[_Place]
    digests: dict[bytes, list[int]]
    signatures_HK: np.ndarray
    keys_BH: np.ndarray
    order_BH: np.ndarray

    @classmethod
    def read(cls, url: str, report: Callable[[], object]) -> _HeldOut:
        signer = minhash.Signer()
        places: list[_Place] = []
        digests: dict[bytes, list[int]] = {}
        signatures = []
        for split in HELD_OUT:
            for one in documents_of(url, split):
                data = one.document.text.encode("utf-8", "replace")
                digests.setdefault(xxhash.xxh3_128_digest(data), []).append(len(places))
                signatures.append(signer.sign(data))
                places.append(_place(one, split))
                report()
        signatures_HK = np.array(signatures, np.uint32).reshape(-1, minhash.HASHES)
        keys = [minhash.band_keys(s, BANDS, ROWS) for s in signatures_HK]
        keys_BH = np.array(keys, np.uint64).reshape(-1, BANDS).T
        with_words = np.array([minhash.has_words(s) for s in signatures_HK], bool)
        numbers = np.flatnonzero(with_words)
        order_BH = np.argsort(keys_BH[:, numbers], axis=1, kind="stable")
        sorted_BH = np.take_along_axis(keys_BH[:, numbers], order_BH, axis=1)
        return cls(places, digests, signatures_HK, sorted_BH, numbers[order_BH])


@dataclass(frozen=True)
class _Nearest:
    """Of each held-out document the number of hashes it shares with the nearest train document,
    the place of that one, and whether its very text is in train; how many train documents.
    """

    agreeing: np.ndarray
    places: dict[int, _Place]
    equal: np.ndarray
    documents: int


def nearest(held: _HeldOut, url: str, report: Callable[[], object]) -> _Nearest:
    """Read train once and keep the nearest of each held-out document; of equals the first."""
    signer = minhash.Signer()
    size = len(held.places)
    best, seen = np.zeros(size, np.int32), np.full(size, -1, np.int64)
    improved = np.empty(size, np.int64)
    equal = np.zeros(size, bool)
    places: dict[int, _Place] = {}
    number = -1
    for number, one in enumerate(documents_of(url, "train")):
        data = one.document.text.encode("utf-8", "replace")
        signature = signer.sign(data)
        count = 0
        if minhash.has_words(signature):
            keys = minhash.band_keys(signature, BANDS, ROWS)
            count = _improve(
                held.keys_BH, held.order_BH, held.signatures_HK, signature, keys, number, seen,
                best, improved,
            )  # fmt: skip
        twins = held.digests.get(xxhash.xxh3_128_digest(data), ())
        for at in (*improved[:count].tolist(), *(t for t in twins if not equal[t])):
            places[at] = _place(one, "train")
        for at in twins:
            best[at], equal[at] = minhash.HASHES, True
        report()
    return _Nearest(best, places, equal, number + 1)


@numba.njit(cache=True, nogil=True)
def _improve(keys_BH, order_BH, signatures_HK, signature, keys, number, seen, best, improved):  # type: ignore[no-untyped-def]
    """Compare with all that share a band; the held-out documents to which none was so near yet."""
    count = 0
    for band in range(keys.size):
        at = np.searchsorted(keys_BH[band], keys[band])
        while at < keys_BH.shape[1] and keys_BH[band, at] == keys[band]:
            other = order_BH[band, at]
            at += 1
            if seen[other] == number:
                continue
            seen[other] = number
            agreeing = 0
            for k in range(signature.size):
                agreeing += signatures_HK[other, k] == signature[k]
            if agreeing > best[other]:
                best[other] = agreeing
                improved[count] = other
                count += 1
    return count


class _Pairs:
    """The similarity of each held-out document to its nearest: an estimate until compared."""

    def __init__(self, url: str, held: _HeldOut, train: _Nearest) -> None:
        self.url, self.held, self.train = url, held, train
        self.similarity = train.agreeing / minhash.HASHES
        self.exact = train.equal.copy()  # equal texts need no comparison

    def compare(self) -> int:
        """Compare the likest pairs in full; how many are exact then."""
        likest = np.argsort(-self.similarity, kind="stable")[:_COMPARED].tolist()
        chosen = [n for n in likest if self.similarity[n] >= _WORTH_COMPARING and not self.exact[n]]
        texts = self._texts(self.held.places[n] for n in chosen)
        wanted: dict[tuple[str, int], list[int]] = {}
        for n in chosen:
            place = self.train.places[n]
            wanted.setdefault((place.shard, place.line), []).append(n)
        for where, text in self._read(wanted):
            mine = exact_jaccard.shingles(text)
            for n in wanted[where]:
                place = self.held.places[n]
                other = exact_jaccard.shingles(texts[place.shard, place.line])
                self.similarity[n] = len(mine & other) / len(mine | other)
                self.exact[n] = True
        return int(self.exact.sum())

    def _texts(self, places: Iterable[_Place]) -> dict[tuple[str, int], str]:
        return dict(self._read({(place.shard, place.line) for place in places}))

    def _read(self, wanted: Any) -> Iterator[tuple[tuple[str, int], str]]:
        """Texts by (shard, line); shards without any are not opened."""
        lines: dict[str, set[int]] = {}
        for shard, line in wanted:
            lines.setdefault(shard, set()).add(line)
        built = manifest.is_corpus(self.url)
        for shard, here in sorted(lines.items()):
            rows = located.in_shard(self.url, shard) if built else located.in_file(shard, shard)
            for one in rows:
                if one.line in here:
                    yield (shard, one.line), one.document.text
                    here.discard(one.line)
                    if not here:
                        break

    def worst(self, count: int) -> list[dict[str, Any]]:
        """The likest pairs."""
        order = np.argsort(-self.similarity, kind="stable")[:count].tolist()
        return [
            {
                "similarity": float(self.similarity[n]),
                "exact": bool(self.exact[n]),
                "held_out": vars(self.held.places[n]),
                "train": vars(self.train.places[n]),
            }
            for n in order
            if n in self.train.places
        ]


def _counts(held: _HeldOut, similarity_H: np.ndarray) -> dict[str, Any]:
    bins = [bin_of(s, EDGES) for s in similarity_H.tolist()]
    components: dict[str, list[int]] = {}
    for place, number in zip(held.places, bins, strict=True):
        components.setdefault(place.component, [0] * (len(EDGES) - 1))[number] += 1
    return {
        "bins": [
            {"low": EDGES[n], "high": EDGES[n + 1], "documents": bins.count(n)}
            for n in range(len(EDGES) - 1)
        ],
        "components": dict(sorted(components.items())),
    }
