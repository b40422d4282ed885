"""Statistics against plain Python, rules on texts made for them, normalisation."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.core import registry
from seamount.corpora.text.catalog import FILTERS
from seamount.corpora.text.filters import load_rules
from seamount.corpora.text.normalise import normalise
from seamount.corpora.text.text_statistics import measure

SPACE = " \t\n\x0b\x0c\r"
PROSE = "It is known that the cat and the dog have to live with one another in peace. " * 8


def in_python(text: str) -> dict[str, float]:
    """The same counts, written the slow and obvious way."""
    words = [w for w in re.split(f"[{SPACE}]+", text) if w]
    lines = [x for x in text.split("\n") if x.strip(SPACE)]
    bare = [re.sub(f"[{SPACE}]+", " ", x).strip(SPACE) for x in lines]
    gopher = {"the", "be", "to", "of", "and", "that", "have", "with"}
    lower = {re.sub("[A-Z]", lambda m: m[0].lower(), w) for w in words}
    letters = re.compile("[A-Za-z]|[^\0-\x7f]")
    return {
        "words": len(words),
        "word_characters": sum(map(len, words)),
        "alphabetic_words": sum(bool(letters.search(w)) for w in words),
        "stop_words": len(gopher & lower),
        "hashes": text.count("#"),
        "ellipses": text.count("...") + text.count("\u2026"),
        "lines": len(lines),
        "bullet_lines": sum(x[0] in "*-\u2022" for x in bare),
        "ellipsis_lines": sum(x.endswith(("...", "\u2026")) for x in bare),
        "characters": len(text),
        "alphanumeric": len(re.findall("[A-Za-z0-9]|[^\0-\x7f]", text)),
        "longest_line": max(len(x.encode()) for x in text.split("\n")),
        "duplicate_lines": sum(n - 1 for n in Counter(bare).values()),
    }


pieces = [*"ab thewihTo#.-*\n\t", "\u2026", "\u2022", "é", "日", "the ", "...", "\n\n"]


@given(st.lists(st.sampled_from(pieces), max_size=80).map("".join))
def test_one_pass_counts_what_plain_python_counts(text: str) -> None:
    counts = measure(text.encode()).counts._asdict()
    wanted = in_python(text)
    assert {name: counts[name] for name in wanted} == wanted


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
            "bytes in repeated lines",
        ),
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
    assert {case[0] for case in marks} == set(registry.available(FILTERS))


def test_parameters_reach_the_rule() -> None:
    ((_, function),) = load_rules(({"minimum_length": {"characters": 5}},))
    assert function("12345", None) is None and function("1234", None) == "too short"


def test_normalise() -> None:
    assert normalise("\ufeffa\r\nb\rc\n") == "a\nb\nc\n"
    assert normalise("a\0b\x1b[0m\x7f\tc\x0c") == "ab[0m\tc\x0c"


@given(st.text())
def test_normalise_only_takes_away_and_is_idempotent(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once or once.startswith("\ufeff")
    assert len(once) <= len(text)
    assert not set(once) & {"\r", "\0"}
