"""Near duplicates against brute-force Jaccard similarity of word 5-grams."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from seamount.core import storage
from seamount.corpora.text.dedupe import band_files, matching, minhash, survivors, union_find
from seamount.corpora.text.dedupe.band_files import BandFile


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


def write_bands(folder: Path, texts: list[str], segment: int) -> list[BandFile]:
    """The texts as band files of `segment` documents each."""
    files = []
    for first in range(0, len(texts), segment):
        part = [text.encode() for text in texts[first : first + segment]]
        signatures = [minhash.Signer().sign(data) for data in part]
        rows = [n for n, s in enumerate(signatures) if minhash.has_words(s)]
        url = str(folder / f"bands-{segment}-{first}")
        with storage.atomic_write(url) as stream:
            band_files.write(
                stream,
                b"".join(xxhash.xxh3_128_digest(data) for data in part),
                np.array([minhash.band_keys(signatures[n]) for n in rows]).reshape(-1, 20),
                np.array(rows, np.uint32),
                np.array([minhash.sketch(s) for s in signatures]),
            )
        files.append(BandFile.open(url, first))
    return files


def find_copies(folder: Path, texts: list[str], segment: int = 100) -> matching.Copies:
    files = write_bands(folder, texts, segment)
    with matching.opened_sketches(files, str(folder)) as sketches:
        return matching.find(files, sketches)


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
    sketches = signatures.astype(np.uint8)
    pairs = np.arange(0, len(sketches), 2), np.arange(1, len(sketches), 2)
    error = matching.similarities(sketches, *pairs) - np.array(true)
    assert abs(error.mean()) < 0.01
    assert error.std() < 0.05


def test_recall_and_precision(planted, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    texts, _, true = planted
    same = find_copies(tmp_path, texts).same
    found = same[::2] == same[1::2]
    similar = np.array(true) >= 0.8
    assert similar.sum() > 100
    assert found[similar].mean() >= 0.95
    assert min(np.array(true)[found]) > 0.5 and min(true) < 0.3
    for a, b in enumerate(same):  # nobody is joined to a stranger
        assert jaccard(texts[a], texts[b]) > 0.5


def test_the_cut_into_files_and_ranges_changes_nothing(
    planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    texts = planted[0][:300] + planted[0][100:150] + ["", "?!", "one two", "one two"]
    whole = find_copies(tmp_path, texts, 1_000)
    monkeypatch.setattr(matching, "_RANGE_BYTES", 1_000)  # a few slots of keys at a time
    for segment in (7, 128):
        cut = find_copies(tmp_path, texts, segment)
        for name in ("exact", "same", "group"):
            assert (getattr(cut, name) == getattr(whole, name)).all()


def test_sets_are_those_of_all_pairs_compared(planted, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Brute force: every pair that shares a band, by the signatures themselves."""
    texts, signatures = planted[0][:200], planted[1][:200]
    keys = np.array([minhash.band_keys(s) for s in signatures])
    edges: dict[str, list[tuple[int, int]]] = {"same": [], "group": []}
    for a in range(200):
        for b in range(a + 1, 200):
            likeness = (signatures[a] == signatures[b]).mean()
            if (keys[a] == keys[b]).any() and likeness >= 0.72:
                edges["same"].append((a, b))
            if (keys[a] == keys[b]).any() and likeness >= 0.52:
                edges["group"].append((a, b))
    found = find_copies(tmp_path, texts)
    for a, b in edges["same"]:
        assert found.same[a] == found.same[b]
    for a, b in edges["group"]:
        assert found.group[a] == found.group[b]
    assert (spread(200, [(n, int(s)) for n, s in enumerate(found.same)]) == found.same).all()
    assert len(edges["same"]) > 40


def test_candidate_probability_is_the_curve_of_bands_and_rows() -> None:
    draws = np.random.default_rng(1).random((4_000, minhash.BANDS, minhash.ROWS)) < 0.8
    shown = draws.all(axis=2).any(axis=1).mean()
    assert minhash.candidate_probability(0.8) == pytest.approx(shown, abs=0.01)
    assert minhash.candidate_probability(0.8) > 0.99


def test_words_are_what_the_docstring_says() -> None:
    same = sign(["The quick, brown fox -- jumps!", "the QUICK brown\nfox jumps", "the quick"])
    assert (same[0] == same[1]).all()
    assert not (same[0] == same[2]).all()
    words = [minhash.has_words(s) for s in sign(["a", "", "?! ...", "ü"])]
    assert words == [True, False, False, True]


def test_texts_without_words_are_never_near(tmp_path: Path) -> None:
    found = find_copies(tmp_path, ["...", "!!!", "", "one two", "One, two!", "..."])
    assert found.same.tolist() == [0, 1, 2, 3, 3, 0]
    assert found.exact.tolist() == [0, 1, 2, 3, 4, 0]
    assert found.compared == 1


def spread(size: int, edges: list[tuple[int, int]]) -> np.ndarray:
    """Connected components by brute force: the smallest number spreads until nothing changes."""
    label = np.arange(size)
    while True:
        before = label.copy()
        for a, b in edges:
            label[a] = label[b] = min(label[a], label[b])
        if (before == label).all():
            return label


def test_union_find_finds_connected_components() -> None:
    random = Random(2)
    edges = [(random.randrange(200), random.randrange(200)) for _ in range(150)]
    parent = union_find.forest(200)
    joined = sum(union_find.unite(parent, a, b) for a, b in edges)
    union_find.flatten(parent)
    assert (parent == spread(200, edges)).all()
    assert len(set(parent.tolist())) == 200 - joined


def test_the_survivor_is_the_first_by_priority_then_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survivors, "_AT_ONCE", 2)
    sets = np.array([0, 1, 0, 3, 1, 0])
    ids, components = ["z", "b", "y", "q", "a", "x"], ["A", "A", "A", "A", "A", "B"]
    rows = [
        (n, pa.record_batch({"id": ids[n : n + 2], "component": components[n : n + 2]}))
        for n in (0, 2, 4)
    ]
    chosen = survivors.choose(sets, rows, {"A": 1, "B": 2}.__getitem__)
    assert chosen["id"].to_pylist() == ["y", "a"]
    assert survivors.survivor_of(sets, chosen).tolist() == [2, 4, 2, 3, 4, 2]
    chosen = survivors.choose(sets, rows, {"A": 2, "B": 1}.__getitem__)
    assert survivors.survivor_of(sets, chosen).tolist() == [5, 4, 5, 3, 4, 5]


def test_a_huge_bucket_does_not_grow_quadratic(tmp_path: Path) -> None:
    texts = ["one and the same text in all of them" + "!" * n for n in range(2_000)]
    found = find_copies(tmp_path, texts)
    assert found.compared < 2_000 * 50
    assert (found.same == 0).all() and (found.exact == np.arange(2_000)).all()
