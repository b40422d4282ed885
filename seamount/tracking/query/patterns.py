"""Extended regular expressions: Neptune's grammar, with parentheses and named fields added.

    alternative := conjunction (WS+ "|" WS+ conjunction)*
    conjunction := term (WS+ "&" WS+ term)*                      AND binds tighter than OR
    term        := "!" WS* REGEX | "!" WS* "(" alternative ")" | "(" alternative ")" | REGEX
    REGEX       := RE2 syntax, searched for anywhere in the text; "?FIELD:" before it names a field

A `|` or `&` is an operator only with white space on both sides. Every pattern that is legal in
Neptune keeps its meaning, because what is added was an error there: a parenthesis groups terms only
where an operator stands between it and its partner (cut at the operator, Neptune's regexes would be
unbalanced), and no RE2 regex begins with `?`. `\\x20` is a space, `\\x21` a bang.

Matching is by RE2: its time is linear in pattern and text, so a hostile pattern cannot hang.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from seamount.tracking.query.mistakes import QueryError
from seamount.tracking.query.pattern_tokens import Token, tokens

MAX_CHARS = 10_000
MAX_DEPTH = 100
_MAX_MEMORY_BYTES = 8 << 20  # what RE2 may use for one regex

_FIELD = re.compile(r"\?(`[^`]*`|[^:`])+:")

# A field (None: all of them) -> its texts as UTF-8, one a line; None where there are none.
Texts = Callable[[str | None], bytes | None]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled extended regex; make it with `compile_pattern`."""

    source: str
    _root: Any

    def matches(self, text: str) -> bool:
        """Whether one text matches; a pattern with fields wants `matches_record`."""
        return self._root.holds(lambda _: lines([text]))

    def matches_record(self, texts: Texts) -> bool:
        """Whether a record of many texts matches: each term must be found in one of them."""
        return self._root.holds(texts)


@dataclass(frozen=True, slots=True)
class _Term:
    """One regex, searched in each line of a field."""

    field: str | None
    search: Callable[[bytes], bool]

    def holds(self, texts: Texts) -> bool:
        found = texts(self.field)
        return found is not None and self.search(found)


@dataclass(frozen=True, slots=True)
class _Not:
    inner: Any

    def holds(self, texts: Texts) -> bool:
        return not self.inner.holds(texts)


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple[Any, ...]

    def holds(self, texts: Texts) -> bool:
        return all(part.holds(texts) for part in self.parts)


@dataclass(frozen=True, slots=True)
class _Any:
    parts: tuple[Any, ...]

    def holds(self, texts: Texts) -> bool:
        return any(part.holds(texts) for part in self.parts)


def lines(texts: Iterable[str]) -> bytes | None:
    """Texts in the form in which they are searched: one a line (their own line ends as spaces)."""
    plain = [one_line(text) for text in texts]
    return "\n".join(plain).encode("utf-8", "replace") if plain else None


def one_line(text: str) -> str:
    """`text` with its line ends as spaces."""
    return text.replace("\n", " ") if "\n" in text else text


def compile_pattern(pattern: str, *, fields: frozenset[str] | None = None) -> Pattern:
    """Read an extended regex; raises QueryError that points at the mistake.

    `fields` are the names that may stand before a colon (`config`, or `config.NAME` where the set
    holds "config."); None: there are none, as where the pattern is for a single text.
    """
    if len(pattern) > MAX_CHARS:
        raise QueryError(f"a pattern may have {MAX_CHARS} characters", pattern, MAX_CHARS)
    return Pattern(pattern, _Reader(pattern, fields).read())


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, pattern: str, fields: frozenset[str] | None) -> None:
        self._pattern, self._fields = pattern, fields
        self._tokens = list(tokens(pattern))
        self._next = 0

    def read(self) -> Any:
        root = self._alternative(0)
        if (token := self._peek()) is not None:
            raise self._error("this `)` closes no group: write `\\)` for the character", token)
        return root

    def _alternative(self, depth: int) -> Any:
        parts = [self._conjunction(depth)]
        while self._take("|"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else _Any(tuple(parts))

    def _conjunction(self, depth: int) -> Any:
        parts = [self._term(depth)]
        while self._take("&"):
            parts.append(self._term(depth))
        return parts[0] if len(parts) == 1 else _All(tuple(parts))

    def _term(self, depth: int) -> Any:
        negated = False
        while self._take("!"):
            negated = not negated
        inner = self._operand(depth)
        return _Not(inner) if negated else inner

    def _operand(self, depth: int) -> Any:
        if (opened := self._take("(")) is not None:
            if depth >= MAX_DEPTH:
                raise self._error(f"groups may be nested {MAX_DEPTH} deep", opened)
            inner = self._alternative(depth + 1)
            if not self._take(")"):
                raise self._error("this group is not closed: a `)` is missing", opened)
            return inner
        token = self._take("re")
        if token is None:
            raise QueryError("a regex is missing", self._pattern, self._place())
        return self._compile(token)

    def _compile(self, token: Token) -> _Term:
        field, regex, start = self._field(token)
        # The two escapes are replaced as Neptune does it, before RE2 sees the regex.
        regex = regex.replace(r"\x20", " ").replace(r"\x21", "!")
        return _Term(field, _search(regex, self._pattern, start))

    def _field(self, token: Token) -> tuple[str | None, str, int]:
        """(field, regex, where the regex begins) of a term."""
        found = _FIELD.match(token.text)
        if found is None or self._fields is None:
            return None, token.text, token.start
        name = found[0][1:-1].replace(r"\x20", " ").replace("`", "")
        head = name.split(".", 1)[0] + "." if "." in name else name
        if head not in self._fields:
            known = ", ".join(f + ("NAME" if f[-1] == "." else "") for f in sorted(self._fields))
            raise self._error(f"unknown field {name!r} (known: {known})", token)
        return name, token.text[found.end() :], token.start + found.end()

    def _peek(self) -> Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self, kind: str) -> Token | None:
        token = self._peek()
        if token is None or token.kind != kind:
            return None
        self._next += 1
        return token

    def _place(self) -> int:
        token = self._peek()
        return len(self._pattern) if token is None else token.start

    def _error(self, message: str, token: Token) -> QueryError:
        return QueryError(message, self._pattern, token.start)


def _search(regex: str, pattern: str, start: int) -> Callable[[bytes], bool]:
    """A function that says whether one line of its text holds a match."""
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY_BYTES
    options.never_nl = True  # no match runs over the end of a line
    try:
        single = re2.compile(regex.encode(), options).search
        if any(mark in regex for mark in ("\\A", "\\z", "(?")):  # may tell a line from a text
            return lambda text: any(single(line) is not None for line in text.split(b"\n"))
        anywhere = re2.compile(f"(?m){regex}".encode(), options).search
    except (re2.error, UnicodeEncodeError) as error:
        raise QueryError(f"not a regex ({_reason(error)})", pattern, start) from error
    return lambda text: anywhere(text) is not None


def _reason(error: Exception) -> str:
    detail = error.args[0] if error.args else error
    text = detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
    return text if len(text) <= 120 else f"{text[:119]}…"
