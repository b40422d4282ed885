"""The tokens of an extended regex: operators, parentheses that group, and the regexes between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamount.tracking.query.mistakes import QueryError

_WHITE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Token:
    """An operator ("|", "&", "!", "(", ")") or a regex (kind "re"), and where it stands."""

    kind: str
    text: str
    start: int


def tokens(pattern: str) -> Iterator[Token]:
    """Cut at the operators as Neptune does (first every `|`, then `&` within), then find groups."""
    start, end = _stripped(pattern, 0, len(pattern))
    for op_start, (left, right) in _pieces("|", pattern, start, end):
        if op_start is not None:
            yield Token("|", "|", op_start)
        for and_start, (first, last) in _pieces("&", pattern, left, right):
            if and_start is not None:
                yield Token("&", "&", and_start)
            yield from _term(pattern, first, last)


def _pieces(
    operator: str, pattern: str, start: int, end: int
) -> Iterator[tuple[int | None, tuple[int, int]]]:
    """(place of the operator before it, extent) of each piece of pattern[start:end]."""
    before, place = None, pattern.find(operator, start, end)
    while place >= 0:
        left, right = _stripped(pattern, start, place)[1], _stripped(pattern, place + 1, end)[0]
        if left < place and right > place + 1:
            yield before, (start, left)
            before, start = place, right
        place = pattern.find(operator, max(place + 1, start), end)
    yield before, (start, end)


def _term(pattern: str, start: int, end: int) -> Iterator[Token]:
    """One piece: the groups it opens, bangs, a regex, the groups it closes."""
    opened, closed = _unbalanced(pattern[start:end])
    left = start
    for place in opened:
        for bang in _bangs(pattern, left, start + place):
            yield Token("!", "!", bang)
        yield Token("(", "(", start + place)
        left = _stripped(pattern, start + place + 1, end)[0]
    right = start + closed[0] if closed else end
    if closed:
        right = _stripped(pattern, left, right)[1]
    if pattern.startswith("!", left, right):
        yield Token("!", "!", left)
        left = _stripped(pattern, left + 1, right)[0]
    yield Token("re", pattern[left:right], left)
    for number, place in enumerate(closed):
        last = start + (closed[number + 1] if number + 1 < len(closed) else end - start)
        if (after := pattern[start + place + 1 : last]).strip(_WHITE):
            _refuse(pattern, start + place, after)
        yield Token(")", ")", start + place)


def _bangs(pattern: str, start: int, end: int) -> Iterator[int]:
    """Places of the bangs before a group; anything else there is an error."""
    for place in range(start, end):
        if pattern[place] == "!":
            yield place
        elif pattern[place] not in _WHITE:
            _refuse(pattern, end, pattern[start:end])


def _refuse(pattern: str, place: int, beside: str) -> None:
    raise QueryError(
        f"a parenthesis around an operator groups whole terms and cannot stand beside "
        f"{beside.strip()[:40]!r}: inside a regex write `|` without spaces, or `\\x20|\\x20`",
        pattern,
        place,
    )


def _unbalanced(piece: str) -> tuple[list[int], list[int]]:
    """Places of the `(` and `)` in a piece that have no partner in it, by RE2's own reading."""
    opened: list[int] = []
    closed: list[int] = []
    place = 0
    while place < len(piece):
        if piece[place] == "(":
            opened.append(place)
        elif piece[place] == ")":
            opened.pop() if opened else closed.append(place)
        place = _after(piece, place)
    return opened, closed


def _after(piece: str, place: int) -> int:
    """Where RE2 reads on after what begins at `place`: a character, an escape, a quote, a class."""
    if piece.startswith("\\Q", place):
        end = piece.find("\\E", place + 2)
        return len(piece) if end < 0 else end + 2
    if piece[place] == "[":
        return _after_class(piece, place + 1)
    return place + (2 if piece[place] == "\\" else 1)


def _after_class(piece: str, place: int) -> int:
    """The place behind a class's closing bracket (one that stands first does not close it)."""
    place += piece.startswith("^", place)
    place += piece.startswith("]", place)
    while place < len(piece) and piece[place] != "]":
        named = piece.find(":]", place + 2) if piece.startswith("[:", place) else -1
        place = named + 2 if named >= 0 else place + (2 if piece[place] == "\\" else 1)
    return place + 1


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Extent of text[start:end] without white space at its ends."""
    while start < end and text[start] in _WHITE:
        start += 1
    while end > start and text[end - 1] in _WHITE:
        end -= 1
    return start, end
