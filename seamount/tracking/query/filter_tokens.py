"""The words of a filter: names, texts, numbers, dates and signs, each with its place."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seamount.tracking.query.filters import WORD
from seamount.tracking.query.mistakes import QueryError

UNITS_S = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}

_END = r"(?![\w./@*-])"
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?" + _END, re.A
)
_NUMBER = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(ms|[smhdw])?" + _END
    + r"|([+-]?(?:inf|nan))" + _END, re.A,
)  # fmt: skip
_QUOTED = {q: re.compile(f"{q}((?:[^{q}]|{q}{q})*){q}") for q in "'\"`"}
_SIGNS = ("<=", ">=", "!=", "==", "<", ">", "=", "(", ")", ",")


@dataclass(frozen=True, slots=True)
class Token:
    """kind: "word", "name" (in backticks), "value" (a literal), "sign" or "end"."""

    kind: str
    value: Any
    start: int
    text: str


def tokens(query: str) -> Iterator[Token]:
    """Every token, then one of kind "end"; raises QueryError at what is none."""
    place = 0
    while place < len(query):
        if query[place].isspace():
            place += 1
            continue
        token = _token(query, place)
        yield token
        place += len(token.text)
    yield Token("end", None, len(query), "")


def _token(query: str, place: int) -> Token:
    if query[place] in _QUOTED:
        return _quoted(query, place)
    if found := _DATE.match(query, place):
        return Token("value", read_date(found[0], query, place), place, found[0])
    if found := _NUMBER.match(query, place):
        return Token("value", _number(found), place, found[0])
    if found := WORD.match(query, place):
        return _word(query, place, found[0])
    for sign in _SIGNS:
        if query.startswith(sign, place):
            return Token("sign", "=" if sign == "==" else sign, place, sign)
    raise QueryError(f"{query[place]!r} has no meaning here", query, place)


def _quoted(query: str, place: int) -> Token:
    quote = query[place]
    found = _QUOTED[quote].match(query, place)
    if found is None:
        raise QueryError(f"this {quote} is not closed", query, place)
    inner = found[1].replace(quote * 2, quote)
    return Token("name" if quote == "`" else "value", inner, place, found[0])


def _word(query: str, place: int, word: str) -> Token:
    """A word; `config.` directly before a name in quotes takes it in."""
    end = place + len(word)
    if word.endswith(".") and end < len(query) and query[end] in _QUOTED:
        inner = _quoted(query, end)
        return Token("word", word + inner.value, place, word + inner.text)
    return Token("word", word, place, word)


def _number(found: re.Match[str]) -> float | int:
    if found[3]:
        return float(found[3])
    if found[2]:
        return float(found[1]) * UNITS_S[found[2]]
    try:
        return int(found[1])
    except ValueError:
        return float(found[1])


def read_date(text: str, query: str, place: int) -> datetime.datetime:
    """An ISO 8601 date or moment; without a zone it is UTC."""
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError as error:
        raise QueryError(f"{text!r} is no date ({error})", query, place) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
