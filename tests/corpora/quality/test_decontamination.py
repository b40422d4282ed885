"""Benchmark passages are found wherever they stand; the two defects of the Pile's own script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core.errors import CorruptData, UserError
from seamount.corpora.text.filters import load_rules, outside_files
from seamount.corpora.text.quality.ngram_index import Match, NgramIndex, build_index
from seamount.corpora.text.text_statistics import measure

QUESTION = "Which planet of the solar system has the largest number of known moons in 2023?"


@pytest.fixture
def benchmark(tmp_path: Path) -> str:
    path = tmp_path / "quiz.jsonl"
    records = [
        {"question": QUESTION, "choices": ["Saturn", "Jupiter"], "label": 0},
        {"question": "Too short."},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_a_passage_is_named_by_its_place_in_characters(benchmark: str) -> None:
    index = build_index([benchmark])
    before = "Täglich  neu,\n\tund\u00a0mehr: İstanbul \u2014 " * 50  # separators of many widths
    text = before + QUESTION.upper().replace(" ", " \n- ") + " Saturn, of course."
    ((start, end, name),) = index.find(text)
    assert text[start:end].startswith("WHICH") and text[start:end].endswith("Saturn")
    assert start == len(before) and name == "quiz.jsonl"
    assert index.too_short == {"quiz.jsonl": 1}


def test_the_last_n_gram_counts(tmp_path: Path) -> None:
    words = [f"word{k}" for k in range(13)]
    (tmp_path / "b.txt").write_text(" ".join(words))
    index = build_index([str(tmp_path / "b.txt")])
    assert index.find(" ".join(["start", *words])), "the text's last 13 words are the passage"
    assert index.find(" ".join(words)) == [Match(0, len(" ".join(words)), "b.txt")]
    assert not index.find(" ".join(words[:-1])) and not index.find(" ".join(words[1:]))


def plain_words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


pieces = st.lists(st.sampled_from(["a", "B", "ça", "日", "1", " ", ", ", "\n", "a b"]), max_size=40)


@given(pieces.map("".join), pieces.map("".join), st.integers(2, 4))
def test_it_finds_what_plain_python_finds(source: str, text: str, n: int) -> None:
    import fsspec

    with fsspec.open("memory://benchmark.txt", "wb") as stream:
        stream.write(source.encode())
    theirs, ours = plain_words(source), plain_words(text)
    known = {tuple(theirs[k : k + n]) for k in range(len(theirs) - n + 1)}
    if not known:
        with pytest.raises(UserError, match="no item of"):
            build_index(["memory://benchmark.txt"], n)
        return
    found = build_index(["memory://benchmark.txt"], n).find(text)
    shared = [k for k in range(len(ours) - n + 1) if tuple(ours[k : k + n]) in known]
    assert bool(found) == bool(shared)
    covered = {k for first in shared for k in range(first, first + n)}
    assert sum(len(plain_words(text[m.start : m.end])) for m in found) == len(covered)


def test_an_equal_hash_of_other_words_is_no_match(benchmark: str) -> None:
    index = build_index([benchmark])
    text = "these are thirteen words that no benchmark has but whose hash is made the same"
    import numpy as np

    from seamount.corpora.text.quality.ngram_index import _hashes, _words

    grams = np.sort(_hashes(_words(text.encode()), 13))
    places = index.where_G2[: len(grams)]
    forged = NgramIndex(13, grams, places, index.source, index.names, {})
    assert forged.find(text) == []


def test_rule(benchmark: str) -> None:
    entry = {"decontamination": {"benchmarks": [benchmark]}}
    ((_, rule),) = load_rules([entry])
    text = "So they ask: " + QUESTION
    assert rule(text, measure(text.encode())) == "13 words of quiz.jsonl"
    assert rule("So they ask", measure(b"")) is None
    assert outside_files("seamount.corpora.text.filters", [entry, "gopher_quality"]) == [benchmark]
    with pytest.raises(UserError, match="needs the parameter 'benchmarks'"):
        load_rules(["decontamination"])


def test_damaged_benchmark(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text("{no json\n")
    with pytest.raises(CorruptData, match="is not JSON"):
        build_index([str(tmp_path / "b.jsonl")])
