"""A filter as text, read by recursive descent.

filter  := all ("or" all)*            all := one ("and" one)*
one     := "not" one | "(" filter ")" | test
test    := attribute ("=" | "!=" | "<" | "<=" | ">" | ">=") value
         | attribute ["not"] "in" "(" value ("," value)* ")"
         | attribute ["not"] ("like" | "ilike" | "matches" | "contains") text
         | attribute ["not"] "exists"
"""

from __future__ import annotations

import datetime
import difflib
from typing import Any, NoReturn

from seamount.core.errors import UserError
from seamount.tracking.query.filter_tokens import Token, read_date, tokens
from seamount.tracking.query.filters import (
    AGGREGATES,
    COMPARISONS,
    METADATA,
    NAMED,
    TEXT_TESTS,
    TIME,
    And,
    Expression,
    Not,
    Operand,
    Or,
    Test,
    checked,
)
from seamount.tracking.query.mistakes import QueryError

MAX_CHARS, MAX_DEPTH = 100_000, 100
_KEYWORDS = ("and", "or", "not", "in", *TEXT_TESTS, "exists", "true", "false")
_EXPECTED_TEST = "= != < <= > >=, [not] in, like, ilike, matches, contains or exists"


def parse_filter(query: str) -> Expression:
    """The filter that `query` says; raises QueryError that points at the mistake."""
    reader = _Reader(query)
    where = reader.filter(0)
    reader.end()
    return where


def parse_operand(text: str) -> Operand:
    """One attribute, as in `config.lr` or `last(loss)`; raises QueryError."""
    reader = _Reader(text)
    operand = reader.operand()
    reader.end()
    return operand


class _Reader:
    def __init__(self, query: str) -> None:
        if len(query) > MAX_CHARS:
            raise QueryError(f"a filter may have {MAX_CHARS} characters", query, MAX_CHARS)
        self._query = query
        self._tokens = list(tokens(query))
        self._place = 0

    def filter(self, depth: int) -> Expression:
        """or"""
        parts = [self._all(depth)]
        while self._keyword("or"):
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def end(self) -> None:
        """Nothing may be left."""
        if self._token.kind != "end":
            self._fail("`and`, `or` or the end")

    def _all(self, depth: int) -> Expression:
        parts = [self._one(depth)]
        while self._keyword("and"):
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise QueryError(f"a filter may be nested {MAX_DEPTH} deep", self._query, self._at)
        if self._keyword("not"):
            return Not(self._one(depth + 1))
        if self._sign("("):
            inner = self.filter(depth + 1)
            self._need(")", "`)`, `and` or `or`")
            return inner
        return self._test()

    def _test(self) -> Expression:
        start = self._at
        operand = self.operand()
        negated = self._keyword("not")
        if self._keyword("exists"):
            test = Test(operand, "exists")
            return Not(test) if negated else test
        operator = self._operator(negated)
        value_at = self._at
        value = self._values(operand) if operator.endswith("in") else self._value(operand)
        try:
            return checked(Test(operand, operator, value))
        except QueryError:
            raise  # a pattern's own mistake, pointed at in the pattern
        except UserError as error:
            at = start if operand.kind == "any" else value_at
            raise QueryError(str(error), self._query, at) from error

    def _operator(self, negated: bool) -> str:
        token = self._token
        word = token.value.lower() if token.kind == "word" else ""
        if word in ("in", *TEXT_TESTS):
            self._place += 1
            return f"not {word}" if negated else word
        if token.kind == "sign" and token.value in COMPARISONS and not negated:
            self._place += 1
            return token.value
        self._fail("in, like, ilike, matches, contains or exists" if negated else _EXPECTED_TEST)

    def operand(self) -> Operand:
        """An attribute or an aggregate."""
        token = self._token
        if token.kind != "word" or token.value.lower() in _KEYWORDS:
            self._fail("an attribute (config.NAME, tag.NAME, state, last(METRIC), ...)")
        self._place += 1
        word: str = token.value
        if word in AGGREGATES and self._sign("("):
            return self._aggregate(word)
        head, dot, name = word.partition(".")
        if dot and head in NAMED and name:
            return Operand(head, name)
        if word in METADATA:
            return Operand("run", word)
        if word == "any":
            return Operand("any")
        self._unknown(token)

    def _aggregate(self, kind: str) -> Operand:
        token = self._token
        named = token.kind in ("word", "name") or isinstance(token.value, str)
        if not named or token.kind == "sign":
            self._fail("a metric's name (in backticks if it is an odd one)")
        self._place += 1
        step = None
        if kind == "at":
            self._need(",", "`,` and a step")
            step = self._number("a step")
        self._need(")", "`)`")
        return Operand(kind, token.value, step)

    def _unknown(self, token: Token) -> NoReturn:
        word = token.value
        near = difflib.get_close_matches(word, [*METADATA, *AGGREGATES, "any"], n=1, cutoff=0.7)
        name = word if "." not in word else word.split(".", 1)[1] or word
        hint = (
            f"did you mean {near[0]!r}?" if near and "." not in word
            else f"write config.{name}, tag.{name} or last({name})"
        )  # fmt: skip
        raise QueryError(f"unknown attribute {word!r}: {hint}", self._query, token.start)

    def _values(self, operand: Operand) -> tuple[Any, ...]:
        self._need("(", "`(`")
        values = [self._value(operand)]
        while self._sign(","):
            values.append(self._value(operand))
        self._need(")", "`,` or `)`")
        return tuple(values)

    def _value(self, operand: Operand) -> Any:
        token = self._token
        if token.kind == "value":
            self._place += 1
            if operand.type == TIME and isinstance(token.value, str):
                return read_date(token.value, self._query, token.start)
            return token.value
        for word, value in (("true", True), ("false", False)):
            if self._keyword(word):
                return value
        if self._keyword("ago"):
            return self._ago()
        self._fail("a value (a number, a 'text', true, false or a date)")

    def _ago(self) -> datetime.datetime:
        self._need("(", "`(`")
        seconds = self._number("a duration such as 7d")
        self._need(")", "`)`")
        try:
            return datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds)
        except OverflowError as error:
            raise QueryError("that is before all dates", self._query, self._at) from error

    def _number(self, what: str) -> float:
        value = self._token.value
        if self._token.kind != "value" or not isinstance(value, int | float) or value - value != 0:
            self._fail(what)
        self._place += 1
        return value

    @property
    def _token(self) -> Token:
        return self._tokens[self._place]

    @property
    def _at(self) -> int:
        return self._token.start

    def _keyword(self, word: str) -> bool:
        found = self._token.kind == "word" and self._token.value.lower() == word
        self._place += found
        return found

    def _sign(self, sign: str) -> bool:
        found = self._token.kind == "sign" and self._token.value == sign
        self._place += found
        return found

    def _need(self, sign: str, expected: str) -> None:
        if not self._sign(sign):
            self._fail(expected)

    def _fail(self, expected: str) -> NoReturn:
        token = self._token
        found = "the end" if token.kind == "end" else repr(token.text[:40])
        raise QueryError(f"expected {expected}, found {found}", self._query, token.start)
