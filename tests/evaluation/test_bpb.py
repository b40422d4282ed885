"""Bits per byte against hand-computed cases and the mistakes others made."""

from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest

from seamount.core.errors import CorruptData, SeamountError, UserError
from seamount.core.records import DocumentScore
from seamount.evaluation import bootstrap
from seamount.evaluation.bpb import BpbResult, Weights, bpb, choose_weights
from seamount.evaluation.comparison import compare

LN2 = math.log(2)
# Two bits a byte in A (10 + 30 bytes), four in B (20 bytes).
SCORES = [
    DocumentScore("a1", "A", 10, 5, 20 * LN2),
    DocumentScore("a2", "A", 30, 9, 60 * LN2),
    DocumentScore("b1", "B", 20, 7, 80 * LN2),
]


def test_hand_computed():
    found = bpb(SCORES, {"A": 3.0, "B": 1.0})
    assert found.components["A"].bpb == pytest.approx(2.0, abs=1e-12)
    assert found.components["B"].bpb == pytest.approx(4.0, abs=1e-12)
    assert found.weighted == pytest.approx(0.75 * 2 + 0.25 * 4, abs=1e-12)
    assert found.unweighted == pytest.approx(3.0, abs=1e-12)  # mistake 9 would call this the result
    assert found.all == pytest.approx(160 / 60, abs=1e-12)
    assert (found.components["A"].bytes, found.components["A"].tokens) == (40, 14)


def test_bits_are_not_nats():
    found = bpb(SCORES, {"A": 1.0, "B": 1.0})
    byte_perplexity = math.exp(sum(s.nats for s in SCORES) / sum(s.size_bytes for s in SCORES))
    assert 2**found.all == pytest.approx(byte_perplexity)


def test_without_weights_bytes_count_and_it_says_so():
    found = bpb(SCORES)
    assert found.weights["source"] == "bytes"
    assert found.weighted == pytest.approx(found.all)


def test_pile_names_get_pile_weights_renormalised():
    scores = [
        DocumentScore("1", "Github", 10, 1, 10 * LN2),
        DocumentScore("2", "Pile-CC", 10, 1, 20 * LN2),
    ]
    found = bpb(scores)
    assert found.weights["source"] == "pile"
    assert found.weights["renormalised"]
    assert found.weighted == pytest.approx((7.59 * 1 + 18.11 * 2) / (7.59 + 18.11))
    assert found.weights["values"]["Github"] == pytest.approx(7.59 / 25.7)
    assert found.weights["present_share"] == pytest.approx(0.257, abs=1e-3)
    assert "ArXiv" in found.weights["missing"]
    assert choose_weights(["Github", "own"]).source == "bytes"


def test_generated_components_have_a_headline_without_them():
    found = bpb(SCORES, {"A": 3.0, "B": 1.0}, generated=("B",))
    assert found.without_generated is not None
    assert found.without_generated.weighted == pytest.approx(2.0)
    assert found.weighted == pytest.approx(2.5)
    assert bpb(SCORES, generated=()).without_generated is None
    assert bpb(SCORES, generated=("A", "B")).without_generated is None


def test_order_does_not_matter():
    rng = random.Random(0)
    scores = [DocumentScore(str(i), "AB"[i % 2], i, i, rng.random() * 1e3) for i in range(1, 60)]
    first = bpb(scores, replicates=50)
    rng.shuffle(scores)
    assert bpb(scores, replicates=50) == first


def test_empty_documents_count_as_documents_only():
    empty = [DocumentScore("a3", "A", 0, 0, 0.0), DocumentScore("c", "C", 0, 0, 0.0)]
    found = bpb([*SCORES, *empty], {"A": 1.0, "B": 1.0, "C": 5.0})
    assert found.components["A"].documents == 3
    assert found.components["A"].bpb == pytest.approx(2.0)
    assert found.without_bytes == {"C": 1}
    assert "C" not in found.components
    assert found.weighted == pytest.approx(3.0)


def test_intervals_are_those_of_a_plain_bootstrap():
    rng = np.random.default_rng(1)
    sizes = rng.integers(50, 500, 40)
    rates = rng.uniform(1, 3, 40)
    scores = [
        DocumentScore(str(i), "A", int(s), 1, float(s * r * LN2))
        for i, (s, r) in enumerate(zip(sizes, rates, strict=True))
    ]
    found = bpb(scores, replicates=4000).components["A"]
    drawn = rng.integers(0, 40, (4000, 40))
    plain = (sizes * rates)[drawn].sum(1) / sizes[drawn].sum(1)
    assert found.low == pytest.approx(np.quantile(plain, 0.025), abs=0.03)
    assert found.high == pytest.approx(np.quantile(plain, 0.975), abs=0.03)
    assert found.low < found.bpb < found.high


def test_one_document_has_no_interval():
    found = bpb(SCORES)
    assert found.components["B"].low is None
    assert found.components["A"].low is not None
    alone = bpb([SCORES[2]])
    assert alone.headline.weighted_interval is None


def test_a_components_interval_does_not_move_when_another_is_added():
    scores = [DocumentScore(str(i), "A", 10 + i, 1, i + 3.0) for i in range(9)]
    assert bpb(scores).components["A"].low == bpb([*scores, *SCORES[2:]]).components["A"].low


def test_slices_of_the_draw_change_nothing(monkeypatch):
    columns = ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    whole = bootstrap.resampled_totals(columns, "A", replicates=100)
    monkeypatch.setattr(bootstrap, "_CELLS", 30)
    assert np.array_equal(whole, bootstrap.resampled_totals(columns, "A", replicates=100))


def test_bad_scores_are_named():
    with pytest.raises(SeamountError, match=r"'x'.*no finite"):
        bpb([DocumentScore("x", "A", 3, 1, float("nan"))])
    with pytest.raises(UserError, match="nothing to score"):
        bpb([])
    with pytest.raises(UserError, match="none of the components"):
        bpb(SCORES, {"other": 1.0})


def test_json_and_back():
    found = bpb(SCORES, Weights("catalog", {"A": 1, "B": 2, "Z": 1}), {"name": "paper"}, ("B",))
    content = json.loads(json.dumps(found.to_dict()))
    assert {"protocol", "components", "weighted", "unweighted", "all"} <= content.keys()
    assert set(content["components"]["A"]) >= {"bytes", "tokens", "nats", "bpb", "low", "high"}
    again = BpbResult.from_dict(content)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())
    with pytest.raises(CorruptData):
        BpbResult.from_dict({})


def test_comparison_warns_of_other_documents_and_protocols():
    first = bpb(SCORES, {"A": 1.0, "B": 1.0}, {"name": "paper", "context_length": 64})
    second = bpb(SCORES[:2], {"A": 1.0, "B": 1.0}, {"name": "paper", "context_length": 128})
    assert compare(first, first)["warnings"] == []
    found = compare(first, second)
    assert len(found["warnings"]) == 3
    assert found["rows"][0] == ("A", pytest.approx(2.0), pytest.approx(2.0), pytest.approx(0.0))
