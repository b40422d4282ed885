"""The trained classifier: same bytes from the same texts, safe to load, and the Pareto rule."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.filters import load_rules, outside_files
from seamount.corpora.text.quality.classifier import (
    BUCKETS,
    Classifier,
    draw,
    features,
    keep_probability,
    load_classifier,
    train_classifier,
    window,
)
from seamount.corpora.text.text_statistics import measure

# P Table 6 (arXiv 2101.00027): share of Common Crawl kept for alpha 1 to 9.
PUBLISHED = (0.5894, 0.3649, 0.2390, 0.1671, 0.1239, 0.0974, 0.0802, 0.0685, 0.0602)


def made_texts(words: str, count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(words.split(), k=40)) for _ in range(count)]


GOOD = "the study of rivers shows how water shapes land and people over many quiet years"
BAD = "buy cheap now click here free offer win casino best price the of and sale online"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = str(tmp_path_factory.mktemp("model"))
    train_classifier(made_texts(GOOD, 100, 1), made_texts(BAD, 100, 2), out)
    return out


def test_it_learns_and_says_how_well(model: str) -> None:
    described = json.loads((Path(model) / "classifier.json").read_text())
    assert described["documents"] == {"positive": 100, "negative": 100}
    assert described["held_out"]["documents"] == 20 and described["held_out"]["accuracy"] == 1.0
    loaded = load_classifier(model)
    good, bad = made_texts(GOOD, 20, 3), made_texts(BAD, 20, 4)
    assert min(map(loaded.score, good)) > 0.8 > 0.2 > max(map(loaded.score, bad))
    assert 0 < loaded.score("") < 1


def test_same_texts_same_bytes_and_no_pickle(model: str, tmp_path: Path) -> None:
    train_classifier(iter(made_texts(GOOD, 100, 1)), iter(made_texts(BAD, 100, 2)), str(tmp_path))
    for name in ("weights.npz", "classifier.json"):
        assert (tmp_path / name).read_bytes() == (Path(model) / name).read_bytes()
    with np.load(tmp_path / "weights.npz", allow_pickle=False) as arrays:
        assert arrays["weights"].shape == (BUCKETS,) and arrays["weights"].dtype == np.float32


def test_score_is_the_probability_that_scikit_learn_gives(tmp_path: Path) -> None:
    from scipy.sparse import csr_matrix
    from sklearn.linear_model import LogisticRegression

    texts = made_texts(GOOD, 30, 5) + made_texts(BAD, 30, 6)
    rows = np.zeros((60, BUCKETS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        buckets, values = features(text)
        row[buckets] = values
    fitted = LogisticRegression().fit(csr_matrix(rows), [1] * 30 + [0] * 30)
    ours = Classifier(fitted.coef_[0].astype(np.float32), float(fitted.intercept_[0]))
    wanted = fitted.predict_proba(csr_matrix(rows))[:, 1]
    assert [ours.score(t) for t in texts] == pytest.approx(wanted.tolist(), abs=1e-5)


def test_features_are_words_and_pairs_of_length_one() -> None:
    buckets, values = features("The cat the CAT")  # the x2, cat x2, the cat x2, cat the x1
    assert sorted((values / values.min()).round().tolist()) == [1, 2, 2, 2]
    assert float((values**2).sum()) == pytest.approx(1)
    assert len(buckets) == 4 and features("...")[0].size == 0


def test_window_is_the_one_of_the_pile() -> None:
    text = "a\n" * 10_000
    assert window(text) == text[2_500:4_000].replace("\n", " ")
    assert window("short\n") == "short "


@pytest.mark.parametrize("damage", ["missing", "cut", "pickle", "format"])
def test_a_damaged_model_is_refused(model: str, tmp_path: Path, damage: str) -> None:
    import hashlib
    import pickle

    described = json.loads((Path(model) / "classifier.json").read_text())
    weights = (Path(model) / "weights.npz").read_bytes()
    if damage == "missing":
        with pytest.raises(UserError, match="no classifier in"):
            load_classifier(str(tmp_path))
        return
    if damage == "cut":
        weights = weights[:-1]
    if damage == "pickle":
        weights = pickle.dumps({"weights": 1})
        described["sha256"] = hashlib.sha256(weights).hexdigest()
    if damage == "format":
        described["format"] = 99
    (tmp_path / "weights.npz").write_bytes(weights)
    (tmp_path / "classifier.json").write_text(json.dumps(described))
    with pytest.raises(CorruptData):
        load_classifier(str(tmp_path))


def test_too_few_texts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"at least 20 texts.*given 40 positive and 3 negative"):
        train_classifier(made_texts(GOOD, 40, 1), made_texts(BAD, 3, 1), str(tmp_path))


@given(st.integers(0, 99), st.text(max_size=20), st.floats(0.5, 9))
def test_the_draw_depends_on_seed_and_id_alone(seed: int, name: str, alpha: float) -> None:
    assert draw(seed, name, alpha) == draw(seed, name, alpha) >= 0
    assert draw(seed, name + "x", alpha) != draw(seed, name, alpha)


@pytest.mark.parametrize("alpha", [1.0, 3.0, 9.0])
def test_draws_are_those_of_numpys_pareto(alpha: float) -> None:
    ours = np.sort([draw(7, f"document {k}", alpha) for k in range(20_000)])
    numpys = np.sort(np.random.default_rng(1).pareto(alpha, 20_000))
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        place = int(share * 20_000)
        assert ours[place] == pytest.approx(numpys[place], rel=0.08, abs=0.004)
    for score in (0.0, 0.3, 0.9):
        assert np.mean(ours > 1 - score) == pytest.approx(keep_probability(score, alpha), abs=0.012)


def test_published_kept_shares_fit_one_distribution_of_scores() -> None:
    """The paper gives no scores, but its nine shares must be means of (2 - score)^-alpha over one
    distribution; other conventions (Pareto from 1, or > score) cannot give them.
    """
    from scipy.optimize import nnls

    scores = np.linspace(0, 1, 201)
    alphas = range(1, 10)

    def misfit(kept: np.ndarray) -> float:
        system = np.vstack([kept, np.full(scores.size, 100.0)])  # shares sum to 1
        return float(nnls(system, np.array([*PUBLISHED, 100.0]))[1])

    rows = np.array([[keep_probability(s, a) for s in scores] for a in alphas])
    assert misfit(rows) < 5e-4  # the paper rounds to 1e-4, and its shares are themselves drawn
    classic = np.array([[max(1.0, 1 - s) ** -a for s in scores] for a in alphas])
    assert misfit(classic) > 0.1


def test_rule(model: str) -> None:
    entry = {"classifier": {"model": model, "alpha": 3, "seed": 5}}
    ((_, rule),) = load_rules([entry])
    bad = made_texts(BAD, 400, 9)
    nothing = measure(b"")
    kept = [rule(text, nothing, f"id{k}") is None for k, text in enumerate(bad)]
    wanted = [keep_probability(load_classifier(model).score(text), 3) for text in bad]
    spread = math.sqrt(sum(p * (1 - p) for p in wanted))
    assert abs(sum(kept) - sum(wanted)) < 4 * spread
    again = [rule(text, nothing, f"id{k}") is None for k, text in reversed(list(enumerate(bad)))]
    assert again[::-1] == kept
    assert outside_files("seamount.corpora.text.filters", [entry]) == [f"{model}/classifier.json"]
    ((_, strict),) = load_rules([{"classifier": {"model": model, "alpha": 0, "least": 0.5}}])
    assert {strict(text, nothing, "x") for text in bad} == {"score too low"}
    assert strict(made_texts(GOOD, 1, 1)[0], nothing, "x") is None
