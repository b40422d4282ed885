"""Rules on texts made for them, their parameters, normalisation."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core import registry
from seamount.core.errors import UserError
from seamount.corpora.text.catalog import FILTERS
from seamount.corpora.text.filters import load_rules
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.text_statistics import measure

PROSE = "It is known that the cat and the dog have to live with one another in peace. " * 8


LONG_LINE = ("We went to the house by the river and stayed. " * 5).strip()
NUMBERS = " ".join(f"word{k}" for k in range(60))


@pytest.mark.parametrize(
    ("rule", "text", "reason"),
    [
        ("gopher_quality", PROSE, None),
        ("gopher_quality", "the and of", "too few or too many words"),
        ("gopher_quality", "# " * 20 + PROSE, "symbols a word"),
        ("gopher_quality", "incomprehensibilities " * 60, "mean word length"),
        ("gopher_quality", "- the mountains of water and sand\n" * 15, "bullet lines"),
        (
            "gopher_quality",
            ("and so on with the rest of all the others there...\n" * 10),
            "lines that end in an ellipsis",
        ),
        ("gopher_quality", "the and 123 456 789 " * 20, "words without a letter"),
        ("gopher_quality", "chat chien maison arbre " * 20, "no English stop words"),
        ("minimum_length", "é" * 200, None),
        ("minimum_length", "é" * 199, "too short"),
        ("duplicate_lines", "one\ntwo\nthree\nfour\none\n", None),
        ("duplicate_lines", "one\none\n", "repeated lines"),
        (
            "duplicate_lines",
            "a\nb\nc\nd\ne\nlong line of many words\nlong line of many words\n",
            "characters in repeated lines",
        ),
        ("gopher_repetition", NUMBERS, None),
        ("gopher_repetition", "one\n\ntwo\n\none", "repeated paragraphs"),
        (
            "gopher_repetition",
            f"a b\n\nc d\n\ne f\n\n{NUMBERS}\n\n{NUMBERS}",
            "characters in repeated paragraphs",
        ),
        ("gopher_repetition", "one\ntwo\none", "repeated lines"),
        (
            "gopher_repetition",
            f"{NUMBERS}\n{NUMBERS}\n" + "\n".join(f"other line {k}" for k in range(9)),
            "characters in repeated lines",
        ),
        ("gopher_repetition", f"a b {NUMBERS[:30]} " + "of the " * 6, "one 2-gram too often"),
        ("gopher_repetition", NUMBERS + " " + NUMBERS[:200], "repeated 5-grams"),
        ("c4_page", "A one. A two. A three. A four. A five.", None),
        ("c4_page", "A one. A two. A three. A four.", "too few sentences"),
        ("c4_page", "A one. A two. A three. A four. A {five}.", "curly bracket"),
        ("c4_page", "A one. A two. A three. A four. LOREM Ipsum.", "lorem ipsum"),
        ("fineweb_quality", LONG_LINE, None),
        ("fineweb_quality", "no mark here\n" * 9 + "End.\n", "lines without an end mark"),
        ("fineweb_quality", "Short.\nBrief.\n" + LONG_LINE, None),
        ("fineweb_quality", "One.\nTwo.\nThree.\n" + LONG_LINE, "short lines"),
        (
            "fineweb_quality",
            f"{LONG_LINE}\n{LONG_LINE}\n{LONG_LINE[:99]}.",
            "characters in repeated lines",
        ),
        (
            "fineweb_quality",
            "Incomprehensibilities everywhere-abound.\n\n\nA.",
            "line feeds a word",
        ),
        ("mc4_paragraphs", ("x" * 200 + "\n") * 3, None),
        ("mc4_paragraphs", ("é" * 199 + "\n") * 3 + ("x" * 200 + "\n") * 2, "too few long lines"),
        ("code_quality", "def f(x):\n    return x\n" * 20, None),
        ("code_quality", "x = 1\n" * 20_000, "file too long"),
        ("code_quality", "a" * 1_001 + "\nb\n" * 30, "line too long"),
        ("code_quality", ("a" * 150 + "\n") * 30, "mean line too long"),
        ("code_quality", "(((((((((a)))))))))\n" * 9, "too few letters and digits"),
    ],
)
def test_rule(rule: str, text: str, reason: str | None) -> None:
    ((_, function),) = load_rules((rule,))
    assert function(text, measure(text.encode())) == reason


def test_every_rule_has_a_case_here() -> None:
    marks = test_rule.pytestmark[0].args[1]  # type: ignore[attr-defined]
    prepared = {"classifier", "decontamination", "language"}  # in quality/test_<name>.py
    assert {case[0] for case in marks} | prepared == set(registry.available(FILTERS))


def test_parameters_reach_the_rule() -> None:
    ((_, function),) = load_rules(({"minimum_length": {"characters": 5}},))
    assert function("12345", None) is None and function("1234", None) == "too short"


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"gopher_quality": {"letters": 3}}, "filter 'gopher_quality' has no parameter 'letters'"),
        ({"gopher_quality": {"words": "3"}}, "words must be of type int, given '3'"),
        ({"gopher_quality": {"words": True}}, "words must be of type int, given True"),
        ({"gopher_repetition": {"top": 0.2}}, "top must be of type tuple, given 0.2"),
        ("language", "filter 'language' needs the parameter 'languages'"),
    ],
)
def test_wrong_parameters(entry: str | dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        load_rules((entry,))


def test_normalise() -> None:
    assert normalise("\ufeffa\r\nb\rc\n") == "a\nb\nc\n"
    assert normalise("a\0b\x1b[0m\x7f\tc\x0c") == "ab[0m\tc\x0c"


@given(st.text())
def test_normalise_only_takes_away_and_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once or once.startswith("\ufeff")
    assert len(once) <= len(text)
    assert not set(once) & {"\r", "\0"}
