"""Filters over experiments, runs and attributes; joined by `&`, `|`, `~` (attributes: `|`).

A Filter is one of seamount.tracking.query whose operands are Neptune's attributes: kind is the
attribute's type, or UNKNOWN until a query finds it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seamount.tracking.query.filters import And, Expression, Not, Operand, Or, Test
from seamount.tracking.query.patterns import compile_pattern

KNOWN_TYPES: Sequence[str] = (
    "float",
    "int",
    "string",
    "bool",
    "datetime",
    "float_series",
    "string_set",
    "string_series",
    "file",
    "histogram_series",
    "file_series",
)
UNKNOWN = "unknown"

Leaf = tuple[Callable[[str], bool] | list[str], frozenset[str]]


class BaseAttributeFilter:
    """Which attributes are wanted."""

    def __or__(self, other: BaseAttributeFilter) -> BaseAttributeFilter:
        return BaseAttributeFilter.any(self, other)

    def any(*filters: BaseAttributeFilter) -> BaseAttributeFilter:
        """Attributes that one of these wants."""
        return _Alternative(tuple(filters))

    def leaves(self) -> Iterator[Leaf]:
        """(names, or a test of one; types) of each part."""
        raise NotImplementedError


@dataclass
class AttributeFilter(BaseAttributeFilter):
    """Attributes by name (an extended regex, or a list of exact names) and type (one or several).

    Raises ValueError for types that are not known, QueryError for what is no regex.
    """

    name: str | list[str] | None = None
    type: Any = None

    def __post_init__(self) -> None:
        if self.type is None:
            self.type = list(KNOWN_TYPES)
        elif isinstance(self.type, str):
            self.type = [self.type]
        names = self.name if isinstance(self.name, list) else [self.name or ""]
        if not all(isinstance(name, str) for name in names):
            raise ValueError("name must be a string or list of strings")
        if not isinstance(self.type, Sequence) or not set(self.type) <= set(KNOWN_TYPES):
            known = sorted(KNOWN_TYPES)
            raise ValueError(f"type must be a list of valid values: {known} (got {self.type!r})")

    def leaves(self) -> Iterator[Leaf]:
        """Itself."""
        if isinstance(self.name, list):
            yield self.name, frozenset(self.type)
        else:
            yield pattern(self.name or "").matches, frozenset(self.type)


@dataclass
class _Alternative(BaseAttributeFilter):
    filters: tuple[BaseAttributeFilter, ...]

    def leaves(self) -> Iterator[Leaf]:
        for each in self.filters:
            yield from each.leaves()


@dataclass
class Attribute:
    """An attribute by its exact name, and its type where runs of the project differ in it."""

    name: str
    type: str | None = None

    def __post_init__(self) -> None:
        if self.type is not None and self.type not in KNOWN_TYPES:
            raise ValueError(f"type must be one of: {sorted(KNOWN_TYPES)}")

    @property
    def operand(self) -> Operand:
        """What a filter's test looks at."""
        return Operand(self.type or UNKNOWN, self.name)

    def __str__(self) -> str:
        return f"`{self.name}`" + (f":{self.type}" if self.type else "")


class Filter:
    """A condition on experiments or runs; regexes are extended ones, searched for anywhere.

    Series are looked at by their last value. A test on an attribute that is not there does not
    hold; `~` turns any condition around.
    """

    def __init__(self, internal: Expression) -> None:
        self._internal = internal

    @staticmethod
    def name(name: str | list[str]) -> Filter:
        """The experiment's name matches a regex, or is one of a list."""
        attribute = Attribute("sys/name", "string")
        return Filter.matches(attribute, name) if isinstance(name, str) else one_of(attribute, name)

    @staticmethod
    def eq(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """The value is equal to `value`."""
        return _test(attribute, "=", value)

    @staticmethod
    def ne(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """There is a value, and it differs."""
        return _test(attribute, "!=", value)

    @staticmethod
    def gt(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """The value is greater."""
        return _test(attribute, ">", value)

    @staticmethod
    def ge(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """The value is greater or equal."""
        return _test(attribute, ">=", value)

    @staticmethod
    def lt(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """The value is lower."""
        return _test(attribute, "<", value)

    @staticmethod
    def le(attribute: str | Attribute, value: int | float | str | datetime.datetime) -> Filter:
        """The value is lower or equal."""
        return _test(attribute, "<=", value)

    @staticmethod
    def matches(attribute: str | Attribute, pattern: str) -> Filter:
        """The text matches an extended regex; QueryError for what is none."""
        return _test(attribute, "matches", _stripped(pattern))

    @staticmethod
    def contains_all(attribute: str | Attribute, values: str | list[str]) -> Filter:
        """The set has all of `values`, or the text holds all of them."""
        return _contain("contains_all", attribute, "contains", values)

    @staticmethod
    def contains_none(attribute: str | Attribute, values: str | list[str]) -> Filter:
        """There is a set or text, and it has none of `values`."""
        return _contain("contains_none", attribute, "not contains", values)

    @staticmethod
    def exists(attribute: str | Attribute) -> Filter:
        """There is such an attribute."""
        return Filter(Test(_attribute(attribute).operand, "exists"))

    def __and__(self, other: Filter) -> Filter:
        return Filter(And((self._internal, other._internal)))

    def __or__(self, other: Filter) -> Filter:
        return Filter(Or((self._internal, other._internal)))

    def __invert__(self) -> Filter:
        return Filter(Not(self._internal))

    def __str__(self) -> str:
        return str(self._internal)


def one_of(attribute: Attribute, values: Iterable[str]) -> Filter:
    """The attribute is one of `values`."""
    return Filter(Or(tuple(Filter.eq(attribute, value)._internal for value in values)))


def pattern(text: str) -> Any:
    """An extended regex as Neptune reads it; an empty one matches everything."""
    return compile_pattern(_stripped(text))


def _stripped(text: str) -> str:
    return text.strip() or "(?:)"


def _attribute(attribute: str | Attribute) -> Attribute:
    return Attribute(attribute) if isinstance(attribute, str) else attribute


def _test(attribute: str | Attribute, operator: str, value: Any) -> Filter:
    if not isinstance(value, bool | int | float | str | datetime.datetime):
        raise TypeError(
            f"Invalid value type: {type(value).__name__}. Expected int, float, str, or datetime."
        )
    if operator == "matches":
        compile_pattern(str(value))
    return Filter(Test(_attribute(attribute).operand, operator, value))


def _contain(method: str, attribute: Any, operator: str, values: str | list[str]) -> Filter:
    if values == []:
        raise ValueError(f"`{method}` needs a str or a non-empty list of str, not an empty list")
    parts = [values] if isinstance(values, str) else values
    return Filter(And(tuple(_test(attribute, operator, part)._internal for part in parts)))
