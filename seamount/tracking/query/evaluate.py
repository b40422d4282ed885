"""Which runs a filter selects: set operations over run ids, each test on one column of values."""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Protocol

from seamount.tracking.configs import as_text
from seamount.tracking.query.filters import TIME, And, Expression, Not, Operand, Or, Test
from seamount.tracking.query.frames import micros
from seamount.tracking.query.patterns import Texts, compile_pattern, lines

FIELDS = frozenset(
    {"run_id", "name", "project", "owner", "state", "error"}
    | {"tag", "tag.", "config", "config.", "metric", "file"}
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+|inf|infinity|nan)(e[+-]?\d+)?\s*", re.I | re.A)
# What a column costs to fetch: cheap tests go first and leave fewer runs to the dear ones.
_COST = {"run": 0, "tag": 1, "file": 1, "last": 2, "min": 2, "max": 2, "count": 2, "config": 3}
_POINTS_COST = 5


class Source(Protocol):
    """Where the values come from."""

    def values(self, operand: Operand, run_ids: Collection[str]) -> Mapping[str, Any]:
        """Run id -> value, for those of `run_ids` that have one (times in microseconds)."""

    def texts(self, run_ids: Collection[str]) -> Iterator[tuple[str, Texts]]:
        """Every run's searchable texts by field."""


def select(where: Expression, run_ids: Collection[str], source: Source) -> set[str]:
    """Those of `run_ids` for which `where` holds."""
    left = set(run_ids)
    if isinstance(where, And):
        for part in sorted(where.parts, key=_cost):
            left = select(part, left, source) if left else left
        return left
    if isinstance(where, Or):
        found: set[str] = set()
        for part in sorted(where.parts, key=_cost):
            found |= select(part, left - found, source)
        return found
    if isinstance(where, Not):
        return left - select(where.inner, left, source)
    assert isinstance(where, Test)
    return _test(where, left, source)


def operands(where: Expression | None) -> Iterator[Operand]:
    """Every operand in a filter."""
    if isinstance(where, Test):
        yield where.operand
    for part in (where.inner,) if isinstance(where, Not) else getattr(where, "parts", ()):
        yield from operands(part)


def compile_text_test(test: Test) -> Callable[[Texts], bool]:
    """The `like`, `ilike` or `matches` of a test as a function of texts."""
    kind = test.operator.removeprefix("not ")
    if kind == "matches":
        fields = FIELDS if test.operand.kind == "any" else None
        return compile_pattern(test.value, fields=fields).matches_record
    return _like(test.value, kind == "ilike")


@lru_cache(maxsize=64)
def _like(pattern: str, any_case: bool) -> Callable[[Texts], bool]:
    import re2

    words = {"%": ".*", "_": "."}
    pieces = re.findall(r"\\[%_\\]|.", pattern, re.S)
    body = "".join(words[p] if p in words else re2.escape(p[-1]) for p in pieces)
    options = re2.Options()
    options.dot_nl, options.case_sensitive, options.log_errors = True, not any_case, False
    whole = re2.compile(body.encode(), options).fullmatch
    return lambda texts: whole(texts(None) or b"") is not None


def _cost(where: Expression) -> int:
    return max((_COST.get(each.kind, _POINTS_COST) for each in operands(where)), default=0)


def _test(test: Test, run_ids: set[str], source: Source) -> set[str]:
    negated = test.operator.startswith("not ")
    if test.operand.kind == "any":
        holds = compile_text_test(test)
        found = {run_id for run_id, texts in source.texts(run_ids) if holds(texts)}
        return run_ids - found if negated else found
    values = source.values(test.operand, run_ids)
    if test.operator == "exists":
        return set(values) & run_ids
    holds_for = predicate(test)
    return {
        run_id
        for run_id, value in values.items()
        if run_id in run_ids and holds_for(value) is not negated
    }


def predicate(test: Test) -> Callable[[Any], bool]:
    """Whether one value satisfies a test, a "not " before its operator left aside."""
    kind = test.operator.removeprefix("not ")
    if kind in ("like", "ilike", "matches"):
        holds = compile_text_test(test)
        if kind == "matches":
            return lambda value: holds(lambda _: lines([as_text(value)]))
        return lambda value: holds(lambda _: as_text(value).encode("utf-8", "replace"))
    if kind == "contains":
        return lambda value: (
            test.value
            in ([as_text(part) for part in value] if isinstance(value, list) else as_text(value))
        )
    if kind == "in":
        equals = [_comparison("=", test.operand, value) for value in test.value]
        return lambda value: any(equal(value) for equal in equals)
    return _comparison(kind, test.operand, test.value)


def _comparison(kind: str, operand: Operand, literal: Any) -> Callable[[Any], bool]:
    read = _reader(operand, literal)
    wanted = read(literal)
    if kind == "=":
        return lambda value: _equal(read(value), wanted)
    if kind == "!=":
        return lambda value: not _equal(read(value), wanted)
    compare = _COMPARE[kind]

    def ordered(value: Any) -> bool:
        found = read(value)
        return found is not None and compare(found, wanted)

    return ordered


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and math.isnan(wanted):
        return isinstance(value, float) and math.isnan(value)
    return value is not None and value == wanted


def _reader(operand: Operand, literal: Any) -> Callable[[Any], Any]:
    """How values are read for a comparison with this literal; None is what cannot be."""
    if isinstance(literal, bool):
        return _as_bool
    if isinstance(literal, int | float):
        return _as_number
    if isinstance(literal, datetime.datetime):
        return _as_moment if operand.type != TIME else _as_time
    return as_text


def _as_bool(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def _as_number(value: Any) -> int | float | None:
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        try:
            return int(value)
        except ValueError:
            return float(value)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _as_time(value: Any) -> int:
    """Microseconds since 1970 UTC of a stored time or of a literal."""
    return micros(value) if isinstance(value, datetime.datetime) else int(value)


def _as_moment(value: Any) -> datetime.datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
    return _utc(value) if isinstance(value, datetime.datetime) else None


def _utc(moment: datetime.datetime) -> datetime.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
