"""Decisions of the rules against plain Python that follows the published text and thresholds."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from seamount.corpora.text.edits import load_edits
from seamount.corpora.text.filters import Rule, load_rules
from seamount.corpora.text.filters.gopher_repetition import passage
from seamount.corpora.text.text_statistics import measure

SENTENCES = [
    "The cat and the dog have to live with one another in peace.",
    "It was the best of times, it was the worst of times",
    "He said: \"who's there?\"", "- one item of a list", "* another...", "so it goes on…",
    "terms of use apply here.", "Enable JavaScript to go on.", "x", "1 2 3 4 5.", "# # #",
    "see [12] and [edit] it [citation needed].", "{ brace }.", "Lorem ipsum dolor sit amet.",
    "b" * 1_001 + " is long, is it not?", "And so. And so! Or not?", "日本語の文。", "",
]  # fmt: skip
texts = st.lists(st.sampled_from(SENTENCES), max_size=25).flatmap(
    lambda lines: st.sampled_from(["\n", "\n\n", " ", " \n"]).map(lambda gap: gap.join(lines))
)


def rule(name: str) -> Rule:
    return load_rules([name])[0][1]


def kept_by_gopher_quality(text: str) -> bool:
    words, lines = text.split(), [line for line in text.split("\n") if line.strip()]
    if not 50 <= len(words) <= 100_000 or not 3 <= sum(map(len, words)) / len(words) <= 10:
        return False
    ellipses = text.count("...") + text.count("…")
    ends = sum(line.rstrip().endswith(("...", "…")) for line in lines)
    bullets = sum(line.strip().startswith(("*", "-", "•")) for line in lines)
    needed = {"the", "be", "to", "of", "and", "that", "have", "with"}
    return (
        max(text.count("#"), ellipses) / len(words) <= 0.1
        and bullets / len(lines) <= 0.9
        and ends / len(lines) <= 0.3
        and sum(any(c.isalpha() for c in word) for word in words) / len(words) >= 0.8
        and len(needed & {word.lower() for word in words}) >= 2
    )


def kept_by_gopher_repetition(text: str) -> bool:
    words = text.split()
    lines = [line for line in text.split("\n") if line.strip()]
    paragraphs = [p for p in re.split(r"\n(?:\s*\n)+|\A(?:\s*\n)+", text) if p.strip()]
    for parts in (paragraphs, lines):
        again = [part for k, part in enumerate(parts) if part in parts[:k]]
        if len(again) > 0.3 * len(parts) or sum(map(len, again)) > 0.2 * len(text):
            return False
    for n, most in ((2, 0.2), (3, 0.18), (4, 0.16)):
        grams = Counter(" ".join(words[k : k + n]) for k in range(len(words) - n + 1))
        if grams and len(grams.most_common(1)[0][0]) * grams.most_common(1)[0][1] > most * len(
            text
        ):
            return False
    for n, most in ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10)):
        seen: set[tuple[str, ...]] = set()
        repeated, k = 0, 0
        while k + n <= len(words):
            gram = tuple(words[k : k + n])
            repeated += sum(map(len, gram)) if gram in seen else 0
            k += n if gram in seen else 1
            seen.add(gram)
        if repeated > most * len(text):
            return False
    return True


def kept_by_fineweb(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines:
        return False
    marks = (".", "!", "?", "。")
    again = sum(len(line) for k, line in enumerate(lines) if line in lines[:k])
    return (
        sum(line.endswith(marks) for line in lines) / len(lines) >= 0.12
        and sum(len(line) <= 30 for line in lines) / len(lines) <= 0.67
        and again / len(text.replace("\n", "")) <= 0.01
        and text.count("\n") / len(text.split()) <= 0.3
    )


def c4_lines(text: str) -> str:
    kept = []
    for line in text.splitlines():
        line = line.strip()
        words = line.split()
        line = re.sub(r"\[\d*\]|\[edit\]|\[citation needed\]", "", line)
        if (
            len(words) >= 3
            and max(map(len, words)) <= 1_000
            and line.endswith((".", "?", "!", '"', "'"))
            and not line.endswith("...")
            and "javascript" not in line.lower()
            and not any(
                phrase in line.lower()
                for phrase in (
                    "terms of use",
                    "privacy policy",
                    "cookie policy",
                    "uses cookies",
                    "use of cookies",
                    "use cookies",
                )
            )
        ):
            kept.append(line)
    return "\n".join(kept).strip()


@settings(max_examples=300)
@given(texts)
def test_gopher_quality(text: str) -> None:
    assert (rule("gopher_quality")(text, measure(text.encode())) is None) == (
        kept_by_gopher_quality(text)
    )


@settings(max_examples=300)
@given(texts | st.lists(st.sampled_from(["a", "bc", "def", "\n"]), max_size=80).map(" ".join))
def test_gopher_repetition(text: str) -> None:
    reason = rule("gopher_repetition")(text, measure(text.encode()))
    assert (reason is None) == kept_by_gopher_repetition(text)
    if reason is not None:
        shown = passage(text, reason)
        assert " ".join(shown.split()) in " ".join(text.split())
        assert shown or "paragraph" in reason


@settings(max_examples=300)
@given(texts.filter(str.strip))
def test_fineweb_quality(text: str) -> None:
    reason = rule("fineweb_quality")(text, measure(text.encode()))
    assert (reason is None) == kept_by_fineweb(text)


@settings(max_examples=300)
@given(texts)
def test_c4(text: str) -> None:
    ((_, edit),) = load_edits(["c4_lines"])
    edited = edit(text)
    assert edited == c4_lines(text)
    assert edit(edited) == edited
    reason = rule("c4_page")(edited, measure(edited.encode()))
    if "{" in edited or "lorem ipsum" in edited.lower():
        assert reason in ("curly bracket", "lorem ipsum")


def test_c4_lines_by_hand() -> None:
    ((_, edit),) = load_edits(["c4_lines"])
    text = (
        "  Home | About\nA river[3] runs east.[citation needed]\nWe use cookies here.\nToo short.\n"
    )
    assert edit(text) == "A river runs east."
    ((_, fineweb),) = load_edits(
        [{"c4_lines": {"end_mark": False, "words": 2, "citations": False}}]
    )
    assert fineweb(text).split("\n") == [
        "Home | About", "A river[3] runs east.[citation needed]", "Too short."
    ]  # fmt: skip


def test_mc4_counts_lines_of_200_characters() -> None:
    mc4 = rule("mc4_paragraphs")
    assert mc4("é" * 200 + "\n" + "x" * 300 + "\n\n" + " " * 200, measure(b"")) is None
    assert mc4("é" * 200 + "\n" + "x" * 300 + "\n" + "y" * 199, measure(b"")) is not None
