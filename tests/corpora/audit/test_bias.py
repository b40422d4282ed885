"""Co-occurrence counts against two nested loops."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from audited import records
from hypothesis import given
from hypothesis import strategies as st

from seamount.cli.main import main
from seamount.core.errors import UserError
from seamount.corpora.text.audit import bias as module
from seamount.corpora.text.audit.bias import WordList, bias, read_words

LIST = """
window: 4
groups:
  female: [she, ÄRZTIN]
  male: [he]
targets: [doctor, nurse, the]
"""


def by_hand(texts: list[str], words: WordList) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
    pairs, places, seen = Counter[Any](), Counter[Any](), Counter[Any]()
    for text in texts:
        row = re.findall(r"[^\W_]+", text.casefold())
        for i, word in enumerate(row):
            if word not in words.targets:
                continue
            target = words.targets[word]
            seen[target] += 1
            for j, other in enumerate(row):
                if i != j and abs(i - j) <= words.window:
                    places[target] += 1
                    if other in words.groups:
                        pairs[target, words.groups[other]] += 1
    return pairs, places, seen


@given(
    texts=st.lists(
        st.lists(st.sampled_from(("she", "he", "doctor", "nurse", "the", "x", "y")), max_size=30)
    ),
    window=st.integers(1, 6),
    same=st.booleans(),
)
def test_counts_are_those_of_two_loops(texts: list[list[str]], window: int, same: bool) -> None:
    """With a word that is target and member of a group, too."""
    groups = {"she": "f", "he": "m"} | ({"doctor": "f"} if same else {})
    words = WordList(groups, {"doctor": "doctor", "nurse": "nurse"}, window)
    counts = module._Counts()
    for text in texts:
        counts.add(" ".join(text), words)
    pairs, places, seen = by_hand([" ".join(t) for t in texts], words)
    assert (+counts.pairs, +counts.places, +counts.targets) == (+pairs, +places, +seen)


def test_a_corpus(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "words.yaml"
    path.write_text(LIST)
    words = read_words(str(path))
    told = bias(str(corpus), words)
    found = records(corpus)
    parts = {
        n: [r["text"] for r in found if r["meta"]["pile_set_name"] == n] for n in told["components"]
    }
    everything = by_hand([r["text"] for r in found], words)
    for name, texts in [*parts.items(), ("", [r["text"] for r in found])]:
        part = told["components"][name] if name else told["all"]
        pairs, places, seen = by_hand(texts, words)
        assert part["targets"] == {t: seen[t] for t in ("doctor", "nurse", "the")}
        assert part["words"] == sum(len(re.findall(r"[^\W_]+", t)) for t in texts)
        for target, groups in part["pairs"].items():
            for group, value in groups.items():
                assert value["count"] == pairs[target, group] > 0
                near = sum(n for (_, g), n in pairs.items() if g == group)
                lift = pairs[target, group] / (near * places[target] / sum(places.values()))
                assert value["lift"] == pytest.approx(lift)
                assert value["pmi"] == pytest.approx(math.log2(lift))
                rate = everything[0][target, group] / everything[1][target]
                own = pairs[target, group] / places[target]
                assert value["lift_to_corpus"] == pytest.approx(own / rate)
    main(["corpus", "audit", str(corpus), "--bias", str(path), "--json"])
    assert json.loads(capsys.readouterr().out) == told
    main(["corpus", "audit", str(corpus), "--bias", str(path)])
    out = capsys.readouterr().out
    assert "window 4 words" in out and all(c.isprintable() or c == "\n" for c in out)


def test_a_planted_association_is_told() -> None:
    words = WordList({"she": "f", "he": "m"}, {"nurse": "nurse", "doctor": "doctor"}, 2)
    counts = module._Counts()
    for _ in range(30):
        counts.add("a nurse she said", words)
        counts.add("a doctor he said", words)
        counts.add("a doctor she said", words)
    part = module._described(counts, counts, words)["pairs"]
    assert part["nurse"]["f"]["lift"] == pytest.approx(1.5)
    assert part["doctor"]["f"]["lift"] == pytest.approx(0.75)
    assert part["nurse"]["m"] == {"count": 0, "lift": 0.0, "pmi": None, "lift_to_corpus": None}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[a]", "groups and targets"),
        ("groups: {a: [b]}", "groups and targets"),
        ("{groups: {a: [b]}, targets: [c], x: 1}", "'x'"),
        ("{groups: {a: [b]}, targets: [c], window: 0}", "window is 0"),
        ("{groups: {a: [b]}, targets: [c], window: true}", "window is True"),
        ("{groups: {a: [b], c: [B]}, targets: [d]}", "stands in two"),
        ("{groups: {a: [no]}, targets: [d]}", "False"),
        ("{groups: {a: [two words]}, targets: [d]}", "'two words'"),
        ("{groups: {a: b}, targets: [d]}", "list of words"),
        ("{groups: {}, targets: [d]}", "names with lists"),
        ("{groups: {a: [b]}, targets: 3}", "names with lists"),
    ],
)
def test_word_lists_that_are_none(content: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    path.write_text(content)
    with pytest.raises(UserError, match=re.escape(says)):
        read_words(str(path))
