"""Filters over runs as Python objects: what the parser makes, and what a person may build by hand.

    where = (config("lr") < 0.1) & ~tag("bad").exists() & (metric("loss").min() < 2)
    str(where)   # "config.lr < 0.1 and not tag.bad exists and min(loss) < 2"

A literal's type decides how a value is read: a number compares numbers (and texts that read as
one), true and false compare bools, a date compares moments, text compares the value's text. A value
that is absent, or cannot be read so, satisfies no comparison except that `!=`, `not in` and `not
like` hold for any value that is there. docs/tracking/query.md has the whole grammar.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seamount.core.errors import UserError

TEXT, TIME, NUMBER, ANY = "text", "time", "number", "any"
METADATA = {
    "run_id": TEXT, "name": TEXT, "project": TEXT, "owner": TEXT, "state": TEXT, "error": TEXT,
    "created": TIME, "ended": TIME, "duration": NUMBER,
    "fork_run_id": TEXT, "fork_step": NUMBER,
}  # fmt: skip
AGGREGATES = ("last", "min", "max", "mean", "count", "at")
NAMED = ("config", "tag", "file")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
TEXT_TESTS = ("like", "ilike", "matches", "contains")

WORD = re.compile(r"(?:[^\W\d]|\*)[\w./@*-]*")


@dataclass(frozen=True, slots=True)
class Operand:
    """What a test looks at: kind "run" (a METADATA name), "config", "tag", "file", "any", or one of
    AGGREGATES over the metric `name`, `at` with its `step`."""

    kind: str
    name: str = ""
    step: float | None = None

    @property
    def type(self) -> str:
        """TEXT, TIME, NUMBER, or ANY where each run may hold another type."""
        if self.kind == "run":
            return METADATA[self.name]
        return NUMBER if self.kind in (*AGGREGATES, "file") else ANY

    def __str__(self) -> str:
        if self.kind in ("run", "any"):
            return self.name or self.kind
        if self.kind in NAMED:
            return f"{self.kind}.{_name(self.name, WORD.fullmatch(f'x.{self.name}'))}"
        step = "" if self.step is None else f", {self.step!r}"
        return f"{self.kind}({_name(self.name, WORD.fullmatch(self.name))}{step})"


class Expression:
    """A condition on a run; joined by `&`, `|` and `~`."""

    __slots__ = ()

    def __and__(self, other: Expression) -> Expression:
        return And((self, other))

    def __or__(self, other: Expression) -> Expression:
        return Or((self, other))

    def __invert__(self) -> Expression:
        return Not(self)

    def __bool__(self) -> bool:
        raise TypeError("a filter has no truth value: join filters by & | ~, not by and, or, not")


@dataclass(frozen=True, slots=True)
class And(Expression):
    """All parts hold."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " and ".join(_within(part, Or) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or(Expression):
    """At least one part holds."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return " or ".join(map(str, self.parts))


@dataclass(frozen=True, slots=True)
class Not(Expression):
    """The inner condition does not hold."""

    inner: Expression

    def __str__(self) -> str:
        return f"not {_within(self.inner, And, Or)}"


@dataclass(frozen=True, slots=True)
class Test(Expression):
    """One comparison; `operator` is one of COMPARISONS, "exists", "in" or TEXT_TESTS, the last two
    also with "not " before them."""

    __test__ = False  # no test of pytest's

    operand: Operand
    operator: str
    value: Any = None

    def __str__(self) -> str:
        if self.operator == "exists":
            return f"{self.operand} exists"
        return f"{self.operand} {self.operator} {_literal(self.value)}"


class Column:
    """An attribute of runs, to be compared: `config("lr") < 0.1`, `tag("team") == "a"`."""

    __hash__ = None  # type: ignore[assignment]  # == makes a filter

    def __init__(self, operand: Operand) -> None:
        self.operand = operand

    def _test(self, operator: str, value: Any) -> Test:
        return checked(Test(self.operand, operator, value))

    def __eq__(self, value: object) -> Test:  # type: ignore[override]
        return self._test("=", value)

    def __ne__(self, value: object) -> Test:  # type: ignore[override]
        return self._test("!=", value)

    def __lt__(self, value: Any) -> Test:
        return self._test("<", value)

    def __le__(self, value: Any) -> Test:
        return self._test("<=", value)

    def __gt__(self, value: Any) -> Test:
        return self._test(">", value)

    def __ge__(self, value: Any) -> Test:
        return self._test(">=", value)

    def isin(self, values: Iterable[Any]) -> Test:
        """The value is one of these."""
        return self._test("in", tuple(values))

    def like(self, pattern: str) -> Test:
        """The text matches an SQL pattern (`%`: anything, `_`: one character)."""
        return self._test("like", pattern)

    def ilike(self, pattern: str) -> Test:
        """As `like`, whatever the case of letters."""
        return self._test("ilike", pattern)

    def matches(self, pattern: str) -> Test:
        """The text matches an extended regex."""
        return self._test("matches", pattern)

    def contains(self, part: str) -> Test:
        """The text holds `part`, or the list has it as an element."""
        return self._test("contains", part)

    def exists(self) -> Test:
        """There is a value."""
        return Test(self.operand, "exists")


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric's aggregates: `metric("loss").min() < 2`."""

    name: str

    def last(self) -> Column:
        """Its last value."""
        return Column(Operand("last", self.name))

    def min(self) -> Column:
        """The lowest of its finite values."""
        return Column(Operand("min", self.name))

    def max(self) -> Column:
        """The highest of its finite values."""
        return Column(Operand("max", self.name))

    def mean(self) -> Column:
        """The mean of its finite values."""
        return Column(Operand("mean", self.name))

    def count(self) -> Column:
        """How many points it has."""
        return Column(Operand("count", self.name))

    def at(self, step: float) -> Column:
        """Its value at a step."""
        return Column(Operand("at", self.name, step))


def metric(name: str) -> Metric:
    """A metric of rank 0, or `name@RANK`."""
    return Metric(name)


def config(name: str) -> Column:
    """A configuration value of the newest snapshot."""
    return Column(Operand("config", name))


def tag(name: str) -> Column:
    """A tag's value."""
    return Column(Operand("tag", name))


def file(name: str) -> Column:
    """The size in bytes of a file of the run."""
    return Column(Operand("file", name))


def attribute(name: str) -> Column:
    """What every run has: run_id, name, project, owner, state, error, created, ended, duration;
    a fork also fork_run_id and fork_step."""
    from seamount.core.registry import unknown

    if name not in METADATA:
        raise unknown("run attribute", name, list(METADATA))
    return Column(Operand("run", name))


def checked(test: Test) -> Test:
    """`test` if its value can be compared with its operand; raises UserError (or QueryError)."""
    values = test.value if test.operator.endswith("in") else (test.value,)
    kind = test.operator.removeprefix("not ")
    if kind in TEXT_TESTS and not (kind == "contains" and test.operand.kind == "any"):
        return _checked_pattern(test)
    if test.operand.kind == "any":
        raise UserError("`any` can only be matched: any matches 'PATTERN'")
    for value in values:
        _check_value(test.operand, value)
    return test


def _checked_pattern(test: Test) -> Test:
    from seamount.tracking.query.evaluate import compile_text_test

    if not isinstance(test.value, str):
        raise UserError(f"{test.operand} {test.operator} needs a text, not {test.value!r}")
    if not test.operator.endswith("contains"):
        compile_text_test(test)
    return test


def _check_value(operand: Operand, value: Any) -> None:
    kinds = {TIME: (datetime.datetime,), NUMBER: (int, float)}
    wanted = kinds.get(operand.type, (bool, int, float, str, datetime.datetime))
    if not isinstance(value, wanted) or (operand.type == NUMBER and isinstance(value, bool)):
        word = {TIME: "a date such as 2026-01-31 or ago(7d)", NUMBER: "a number"}
        what = word.get(operand.type, "a number, text, true, false or a date")
        raise UserError(f"{operand} is compared with {what}, not with {value!r}")


def _within(part: Expression, *looser: type) -> str:
    return f"({part})" if isinstance(part, looser) else str(part)


def _name(name: str, bare: object) -> str:
    return name if bare else "`" + name.replace("`", "``") + "`"


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))})"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)
