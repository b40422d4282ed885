"""Near duplicates against brute-force Jaccard similarity of word 5-grams."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest

from seamount.corpora.text.dedupe import clusters, minhash


def shingles(text: str) -> set[tuple[str, ...]]:
    """Independent of the kernel: Python's own words and sets."""
    words = re.findall(r"[^\W]+", text.lower())
    return {tuple(words[i : i + 5]) for i in range(max(1, len(words) - 4))} if words else set()


def jaccard(a: str, b: str) -> float:
    left, right = shingles(a), shingles(b)
    return len(left & right) / len(left | right)


def sign(texts: list[str]) -> np.ndarray:
    signer = minhash.Signer()
    return np.stack([signer.sign(t.encode()) for t in texts])


def vocabulary(random: Random) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyzäé"
    return ["".join(random.choices(letters, k=random.randint(1, 9))) for _ in range(3_000)]


def edited(random: Random, words: list[str], known: list[str], edits: int) -> list[str]:
    """Insertions, deletions, swaps of single words, and a cut end."""
    words = list(words)
    for _ in range(edits):
        place = random.randrange(len(words) - 1)
        kind = random.choice(("insert", "delete", "replace", "swap"))
        if kind == "insert":
            words.insert(place, random.choice(known))
        elif kind == "delete":
            del words[place]
        elif kind == "replace":
            words[place] = random.choice(known)
        else:
            words[place], words[place + 1] = words[place + 1], words[place]
    return words[: len(words) - random.randrange(3)]


@pytest.fixture(scope="module")
def planted() -> tuple[list[str], np.ndarray, list[float]]:
    """400 pairs (2n, 2n + 1) from untouched to unrecognisable, and their true similarity."""
    random = Random(5)
    known = vocabulary(random)
    texts = []
    for number in range(400):
        words = random.choices(known, k=random.randint(60, 400))
        edits = int(len(words) * 0.12 * random.random() ** 2) if number % 8 else len(words) // 3
        texts += [" ".join(words), " ".join(edited(random, words, known, edits))]
    true = [jaccard(texts[i], texts[i + 1]) for i in range(0, len(texts), 2)]
    return texts, sign(texts), true


def test_estimate_is_unbiased(planted) -> None:  # type: ignore[no-untyped-def]
    _, signatures, true = planted
    estimate = (signatures[::2] == signatures[1::2]).mean(axis=1)
    error = estimate - np.array(true)
    assert abs(error.mean()) < 0.01
    assert error.std() < 0.05


def test_recall_and_precision(planted) -> None:  # type: ignore[no-untyped-def]
    texts, signatures, true = planted
    pairs, _ = clusters.similar_pairs(signatures, clusters.SAME)
    found = {(int(a), int(b)) for a, b in pairs}
    similar = [n for n, s in enumerate(true) if s >= 0.8]
    assert len(similar) > 100
    recall = sum((2 * n, 2 * n + 1) in found for n in similar) / len(similar)
    assert recall >= 0.95, recall
    assert all(jaccard(texts[a], texts[b]) > 0.5 for a, b in found)
    assert min(true) < 0.3


def test_candidate_probability_is_the_curve_of_bands_and_rows() -> None:
    draws = np.random.default_rng(1).random((4_000, minhash.BANDS, minhash.ROWS)) < 0.8
    shown = draws.all(axis=2).any(axis=1).mean()
    assert minhash.candidate_probability(0.8) == pytest.approx(shown, abs=0.01)
    assert minhash.candidate_probability(0.8) > 0.99


def test_words_are_what_the_docstring_says() -> None:
    same = sign(["The quick, brown fox -- jumps!", "the QUICK brown\nfox jumps", "the quick"])
    assert (same[0] == same[1]).all()
    assert not (same[0] == same[2]).all()
    assert minhash.has_words(sign(["a", "", "?! ...", "ü"])).tolist() == [True, False, False, True]


def test_texts_without_words_are_never_near() -> None:
    pairs, _ = clusters.similar_pairs(sign(["...", "!!!", "", "one two", "one two"]), 0.5)
    assert pairs.tolist() == [[3, 4]]


def test_join_finds_connected_components() -> None:
    random = Random(2)
    edges = [(random.randrange(200), random.randrange(200)) for _ in range(150)]
    pairs = np.array([e for e in edges if e[0] != e[1]])
    label = list(range(200))
    for _ in range(200):  # brute force: spread the smallest number until nothing changes
        for a, b in pairs:
            label[a] = label[b] = min(label[a], label[b])
    assert clusters.join(200, pairs).tolist() == label


def test_exact_pairs_link_to_the_first() -> None:
    digests = np.array([b"x", b"y", b"x", b"x", b"z"], dtype="S16")
    assert clusters.exact_pairs(digests).tolist() == [[0, 2], [0, 3]]


def test_a_huge_bucket_does_not_grow_quadratic() -> None:
    signatures = sign(["one and the same text in all of them"]).repeat(2_000, axis=0)
    pairs, similarity = clusters.similar_pairs(signatures, 0.5)
    assert len(pairs) < 2_000 * 50 and (similarity == 1).all()
    assert (clusters.join(2_000, pairs) == 0).all()
