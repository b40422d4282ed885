"""Plain data into frozen dataclasses, strictly: messages name the key, the value, the type."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from seamount.core.errors import UserError
from seamount.core.registry import unknown

T = TypeVar("T")


def build(cls: type[T], content: Any, at: str = "") -> T:
    """An instance of the dataclass `cls` from `content`; `at` is the key path it stands under."""
    values = check_keys(cls, content, at)
    for field in fields(cls):  # type: ignore[arg-type]
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in values:
            raise UserError(f"{_key(at, field.name)} is missing: give it a value")
    return cls(**values)


def check_keys(cls: type, content: Any, at: str, also: tuple[str, ...] = ()) -> dict[str, Any]:
    """The entries of `content` as fields of `cls`, each of its declared type.

    `also` names keys that are known at this place too, for the hint of a mistyped one.
    """
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        raise UserError(f"{at or 'the recipe'} is {content!r}: it must hold keys with values")
    hints = get_type_hints(cls)
    for key in content:
        if key not in hints:
            known = sorted(_key(at, name) for name in (*hints, *also))
            raise unknown("key", _key(at, str(key)), known)
    return {key: _convert(hints[key], value, _key(at, key)) for key, value in content.items()}


def _key(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def _convert(wanted: Any, value: Any, at: str) -> Any:
    if is_dataclass(wanted):
        return build(wanted, value, at)  # type: ignore[arg-type]
    origin = get_origin(wanted)
    if origin is Literal:
        return _choice(get_args(wanted), value, at)
    if origin in (Union, types.UnionType):
        return _of_union(get_args(wanted), value, at)
    if origin is tuple:
        return _row(get_args(wanted), value, at)
    if origin is not None:
        return dict(value)
    return _scalar(wanted, value, at)


def _of_union(kinds: tuple[Any, ...], value: Any, at: str) -> Any:
    """The value as the first of `kinds`, or as None or one of the words that others allow."""
    words = [w for kind in kinds[1:] if get_origin(kind) is Literal for w in get_args(kind)]
    if value in words or (value is None and type(None) in kinds):
        return value
    return _convert(kinds[0], value, at)


def _row(kinds: tuple[Any, ...], value: Any, at: str) -> tuple[Any, ...]:
    """A list as a tuple: of any length (kind, ...), or of one value for each kind."""
    if not isinstance(value, list | tuple):
        raise UserError(f"{at} is {value!r}: it must be a list")
    if kinds[-1] is Ellipsis:
        kinds = kinds[:1] * len(value)
    if len(kinds) != len(value):
        raise UserError(f"{at} is {value!r}: it must be a list of {len(kinds)}")
    pairs = enumerate(zip(kinds, value, strict=True))
    return tuple(_convert(kind, one, f"{at}[{i}]") for i, (kind, one) in pairs)


def _choice(choices: tuple[Any, ...], value: Any, at: str) -> Any:
    if value not in choices:
        raise unknown(f"value of {at}", value, [str(c) for c in choices])
    return value


def _scalar(wanted: type, value: Any, at: str) -> Any:
    if wanted is float:
        number = _number(value)
        if number is not None and math.isfinite(number):
            return number
        if number is not None:
            raise UserError(f"{at} is {value!r}: it must be a finite number")
    elif isinstance(value, wanted) and not (wanted is int and isinstance(value, bool)):
        return value
    raise UserError(f"{at} is {value!r}: it must be {_WORDS[wanted]}")


_WORDS: Mapping[type, str] = types.MappingProxyType(
    {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
)


def _number(value: Any) -> float | None:
    """YAML 1.1 reads 1e-3 (no dot) as text: take it for the number it is."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
