"""One compiled pass and the n-gram counts against plain Python that follows the definitions."""

from __future__ import annotations

import unicodedata
from collections import Counter

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from seamount.corpora.text.text_statistics import characters, measure
from seamount.corpora.text.text_statistics.scan import repeats

GOPHER = {"the", "be", "to", "of", "and", "that", "have", "with"}
END_MARK = regex.compile(r"\p{Sentence_Terminal}")


def ends_sentence(word: str) -> bool:
    return bool(END_MARK.match(word.rstrip("\"')]}’”»」』")[-1:]))


def sentences_of(line: str) -> int:
    found, unfinished = 0, False
    for word in line.split():
        unfinished = unfinished or any(c.isalnum() for c in word)
        if ends_sentence(word):
            found, unfinished = found + unfinished, False
    return found + unfinished


def repeated(parts: list[str]) -> tuple[int, int]:
    counts = Counter(parts)
    again = {part: n - 1 for part, n in counts.items()}
    return sum(again.values()), sum(len(part) * n for part, n in again.items())


def in_python(text: str) -> dict[str, int]:
    words = text.split()
    rows = text.split("\n")
    lines = [row for row in rows if row.strip()]
    paragraphs = [""]
    for row in rows:
        if not row.strip():
            paragraphs.append("")
        else:
            paragraphs[-1] += ("\n" if paragraphs[-1] else "") + row
    paragraphs = [p for p in paragraphs if p]
    duplicate_lines, line_characters = repeated(lines)
    duplicate_paragraphs, paragraph_characters = repeated(paragraphs)
    ascii_lower = {"".join(c.lower() if c.isascii() else c for c in w) for w in words}
    return {
        "characters": len(text),
        "newlines": text.count("\n"),
        "alphanumeric": sum(c.isalnum() for c in text),
        "words": len(words),
        "word_characters": sum(map(len, words)),
        "alphabetic_words": sum(any(c.isalpha() for c in w) for w in words),
        "stop_words": len(GOPHER & ascii_lower),
        "hashes": text.count("#"),
        "ellipses": text.count("...") + text.count("…"),
        "sentences": sum(map(sentences_of, lines)),
        "lines": len(lines),
        "longest_line": max(map(len, rows)),
        "bullet_lines": sum(line.strip()[0] in "*-•" for line in lines),
        "ellipsis_lines": sum(line.strip().endswith(("...", "…")) for line in lines),
        "terminated_lines": sum(bool(END_MARK.match(line[-1])) for line in lines),
        "duplicate_lines": duplicate_lines,
        "duplicate_line_characters": line_characters,
        "paragraphs": len(paragraphs),
        "duplicate_paragraphs": duplicate_paragraphs,
        "duplicate_paragraph_characters": paragraph_characters,
    }


PIECES = [
    *"ab #.-*?\n\n\t1", "the ", "To", "...", "…", "•", "é", "日", "。", "—", "\u00a0", "\u2028",
    "\u3000", "\x0c", "\x1f", "٣", "𝔘", '."', "!)", "\n\n", "a b.\n", " \n",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@example("")
@example("\n")
@example("to\u2028be\u00a0of")
@example("a\n\nb\n \na\n\n\nb\nc")
@given(texts | st.text(max_size=80))
def test_one_pass_counts_what_plain_python_counts(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    statistics = measure(text.encode())
    assert statistics.counts._asdict() == in_python(text)
    assert statistics.word_lengths.tolist() == [len(w) for w in text.split()]
    assert statistics.line_lengths.tolist() == [len(x) for x in text.split("\n") if x.strip()]


def grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[k : k + n]) for k in range(len(words) - n + 1)]


def naive_top(words: list[str], n: int) -> int:
    if len(words) < n:
        return 0
    gram, times = Counter(grams(words, n)).most_common(1)[0]
    return len(" ".join(gram)) * times


def naive_duplicate(words: list[str], n: int) -> int:
    seen, total, place = set(), 0, 0
    while place + n <= len(words):
        gram = tuple(words[place : place + n])
        if gram in seen:
            total += sum(map(len, gram))
            place += n
        else:
            seen.add(gram)
            place += 1
    return total


WORDS = st.sampled_from(["a", "bc", "A", "dé", "日本", "end."])


@example(["a"] * 30)
@example(["a", "bc"] * 20)
@given(
    st.lists(WORDS, max_size=60)
    | st.lists(st.lists(WORDS, min_size=4, max_size=14), max_size=6).map(
        lambda parts: [word for part in parts for word in part + part[1:]]
    )
)
def test_repeated_n_grams_are_those_of_plain_python(words: list[str]) -> None:
    repetition = measure(" ".join(words).encode()).repetition
    assert repetition.top == {n: naive_top(words, n) for n in (2, 3, 4)}
    assert repetition.duplicate == {n: naive_duplicate(words, n) for n in range(5, 11)}
    for n, place in repetition.top_place.items():
        if place >= 0:
            assert tuple(words[place : place + n]) == Counter(grams(words, n)).most_common(1)[0][0]
    for n, place in repetition.duplicate_place.items():
        assert (place >= 0) == (repetition.duplicate[n] > 0)
        assert place < 0 or grams(words, n).index(tuple(words[place : place + n])) < place


def test_repeated_n_grams_by_hand() -> None:
    # "one two three four five" twice: its second half repeats 5 words of 3 + 3 + 5 + 4 + 4.
    repetition = measure(b"one two three four five one two three four five").repetition
    assert repetition.duplicate == {5: 19, 6: 0, 7: 0, 8: 0, 9: 0, 10: 0}
    # "one two" (7 characters) and "one two three" (13) and so on, twice each.
    assert repetition.top == {2: 14, 3: 26, 4: 36}


def test_letters_digits_and_spaces_are_those_of_python_for_every_character() -> None:
    table = characters.table()
    assert not any(
        chr(c).isalnum() or chr(c).isspace() or END_MARK.match(chr(c))
        for c in range(characters.SIZE, 0x110000, 7)
    )
    for bit, wanted in (
        (characters.LETTER, str.isalpha),
        (characters.ALPHANUMERIC, str.isalnum),
        (characters.SPACE, str.isspace),
        (characters.TERMINAL, lambda c: bool(END_MARK.match(c))),
    ):
        wrong = [hex(c) for c in range(characters.SIZE) if bool(table[c] & bit) != wanted(chr(c))]
        assert wrong == []
    assert unicodedata.category("\u2028") == "Zl" and table[0x2028] & characters.SPACE


@pytest.mark.parametrize("space", [" ", "\n", "\u0085", "\u1680", "\u2029", "\u205f", "\u3000"])
def test_a_long_text_of_short_words(space: str) -> None:
    words = ["a", "日", "é"] * 250_000
    statistics = measure(space.join(words).encode())
    assert statistics.counts.words == statistics.word_lengths.size == 750_000
    assert statistics.counts.word_characters == 750_000


@pytest.mark.parametrize("damage", [b"\xff", b"a \xe2\x80", b"\xf0\x9f", b"\x80\x80", b"\xf7" * 4])
def test_bytes_that_are_not_utf8_do_no_harm(damage: bytes) -> None:
    assert measure(damage).counts.words >= 1


@given(st.lists(st.integers(0, 30), max_size=200))
def test_repeats(values: list[int]) -> None:
    # The lowest bit marks a used place, so keys that differ in it alone may not be told apart.
    hashes = np.array([v << 59 | 1 for v in values], np.uint64)
    lengths = np.array([v % 7 for v in values], np.int32)
    again, size = repeats(hashes, lengths)
    counts = Counter(values)
    assert again == len(values) - len(counts)
    assert size == sum((n - 1) * (v % 7) for v, n in counts.items())
