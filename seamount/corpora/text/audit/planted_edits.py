"""Edits of a text as they occur in the wild, aimed at a similarity; what they reach is measured.

Every edit works on words with the white space around them. An edit that changes a share p of the
words leaves about (1 - p)^5 of the 5-word shingles, so for a similarity s it takes
p = 1 - (2 s / (1 + s))^(1/5).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from seamount.corpora.text.dedupe.exact_jaccard import SHINGLE_WORDS

Pieces = list[str]
Edit = Callable[[Pieces, float, Random, Sequence[str]], Pieces]
_PIECE = re.compile(r"\S+\s*")
_SIGNS = (",", ";", " -", "!", "...", '"', ")", ":")
_MOST_BOILERPLATE = 20_000
_WRAP = 60


def plant(text: str, kind: str, aim: float, seed: str, vocabulary: Sequence[str]) -> str:
    """`text` after the edit `kind` (one of EDITS), aimed at the Jaccard similarity `aim`.

    `vocabulary` gives words to insert. The same arguments give the same text. At least one word
    changes where a text has one.
    """
    random = Random(f"{seed}\0{kind}\0{aim}")
    start = re.match(r"\s*", text)
    head = start[0] if start else ""
    pieces = _PIECE.findall(text)
    return head + "".join(EDITS[kind](pieces, aim, random, vocabulary)) if pieces else text


def _places(count: int, aim: float, random: Random) -> list[int]:
    """Words to edit, in order, at least one."""
    share = 1 - (2 * aim / (1 + aim)) ** (1 / SHINGLE_WORDS)
    return [n for n in range(count) if random.random() < share] or [random.randrange(count)]


def _insert(pieces: Pieces, aim: float, random: Random, vocabulary: Sequence[str]) -> Pieces:
    for place in reversed(_places(len(pieces), aim, random)):
        pieces.insert(place, random.choice(vocabulary) + " ")
    return pieces


def _delete(pieces: Pieces, aim: float, random: Random, _: Sequence[str]) -> Pieces:
    gone = set(_places(len(pieces), aim, random))
    return [piece for n, piece in enumerate(pieces) if n not in gone]


def _swap(pieces: Pieces, aim: float, random: Random, _: Sequence[str]) -> Pieces:
    for place in _places(len(pieces), aim, random):
        if place + 1 < len(pieces):
            pieces[place], pieces[place + 1] = _spaced(pieces[place + 1]), _spaced(pieces[place])
    return pieces


def _spaced(piece: str) -> str:
    return piece if piece[-1:].isspace() else f"{piece} "


def _replace(pieces: Pieces, aim: float, random: Random, vocabulary: Sequence[str]) -> Pieces:
    for place in _places(len(pieces), aim, random):
        word = pieces[place].rstrip()
        pieces[place] = random.choice(vocabulary) + pieces[place][len(word) :]
    return pieces


def _boilerplate(pieces: Pieces, aim: float, vocabulary: Sequence[str]) -> Pieces:
    """The first words of one and the same long text, as many as the similarity asks for."""
    count = max(1, min(_MOST_BOILERPLATE, round(len(pieces) * (1 / aim - 1))))
    random = Random("boilerplate")
    return [f"{random.choice(vocabulary)} " for _ in range(count)]


def _before(pieces: Pieces, aim: float, _: Random, vocabulary: Sequence[str]) -> Pieces:
    return [*_boilerplate(pieces, aim, vocabulary), "\n\n", *pieces]


def _after(pieces: Pieces, aim: float, _: Random, vocabulary: Sequence[str]) -> Pieces:
    return [*pieces, "\n\n", *_boilerplate(pieces, aim, vocabulary)]


def _cut(pieces: Pieces, aim: float, random: Random, _: Sequence[str]) -> Pieces:
    count = min(len(pieces) - 1, max(1, round(len(pieces) * aim)))
    return pieces[:count] if random.random() < 0.5 else pieces[len(pieces) - count :]


def _rewrap(pieces: Pieces, _aim: float, random: Random, _: Sequence[str]) -> Pieces:
    width = random.randint(_WRAP // 2, 2 * _WRAP)
    column, found = 0, []
    for piece in pieces:
        word = piece.rstrip()
        column += len(word) + 1
        found.append(word + ("\n" if column > width else "  "))
        column = 0 if column > width else column
    return found


def _punctuate(pieces: Pieces, _aim: float, random: Random, _: Sequence[str]) -> Pieces:
    for place in _places(len(pieces), 0.5, random):
        word = pieces[place].rstrip()
        pieces[place] = word + random.choice(_SIGNS) + (pieces[place][len(word) :] or " ")
    return pieces


def _case(pieces: Pieces, _aim: float, random: Random, _: Sequence[str]) -> Pieces:
    change = random.choice((str.upper, str.title, str.swapcase))
    return [change(piece) for piece in pieces]


EDITS: dict[str, Edit] = {
    "words inserted": _insert,
    "words deleted": _delete,
    "words swapped": _swap,
    "words replaced": _replace,
    "boilerplate before": _before,
    "boilerplate after": _after,
    "cut short": _cut,
    "lines wrapped anew": _rewrap,
    "punctuation": _punctuate,
    "case": _case,
}
