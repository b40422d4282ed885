"""Configuration snapshots, never changed once made: flattening, canonical JSON, content hash."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.names import check_name

MAX_SNAPSHOT_BYTES = 1 << 24
_MAX_DEPTH = 32


def snapshot(data: Any, *, flatten: bool = True, cast_unsupported: bool = False) -> dict[str, Any]:
    """`data` (a mapping or a dataclass) as a flat or one-level dict of JSON values.

    With `flatten`, nested mappings and dataclasses become names joined by `/`. A value that has no
    JSON form raises UserError naming it, or is turned into text with `cast_unsupported`.
    """
    if not isinstance(data, Mapping) and not _is_dataclass(data):
        raise UserError(f"log_configs takes a dict or a dataclass, not {type(data).__name__}")
    values = plain(data, cast_unsupported=cast_unsupported)
    flat = dict(_leaves(values, "")) if flatten else values
    for name in flat:
        check_name(name, "config name")
    if (size := len(canonical(flat))) > MAX_SNAPSHOT_BYTES:
        raise UserError(f"a config of {size} bytes is too large: log it as a file instead")
    return flat


def plain(data: Any, *, cast_unsupported: bool = False) -> Any:
    """`data` made of dict, list, str, int, float, bool and None; UserError names what is not."""
    return _plain(data, "", cast_unsupported, 0)


def canonical(values: Mapping[str, Any]) -> bytes:
    """One byte form for equal snapshots."""
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()


def digest(values: Mapping[str, Any]) -> str:
    """Hex SHA-256 of a snapshot in canonical form."""
    return hashlib.sha256(canonical(values)).hexdigest()


def as_text(value: Any) -> str:
    """A config value as MLflow's params show it: text as it is, the rest as JSON."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is int or (kind is float and value - value == 0):
        return repr(value)  # what JSON gives too, in a tenth of the time
    return json.dumps(value, sort_keys=True)


def _is_dataclass(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _plain(value: Any, name: str, cast: bool, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise UserError(f"config {name[:200]!r} is nested deeper than {_MAX_DEPTH} levels")
    if _is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v, f"{name}/{k}", cast, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, name, cast, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return sorted((_plain(v, name, cast, depth + 1) for v in value), key=str)
    return _scalar(value, name, cast)


def _scalar(value: Any, name: str, cast: bool) -> Any:
    if isinstance(value, enum.Enum):
        value = value.value
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    if value is None:
        return None
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    if isinstance(value, PurePath) or cast:
        return str(value)
    raise UserError(
        f"config {name.lstrip('/')!r} is a {type(value).__name__}, which has no plain form: turn "
        "it into text or a number first, or pass cast_unsupported=True"
    )


def _leaves(value: Any, name: str) -> Any:
    """(name, value) of every leaf; an empty mapping is a leaf."""
    if not isinstance(value, dict) or not (value or not name):
        yield name, value
        return
    for key, inner in value.items():
        yield from _leaves(inner, f"{name}/{key}" if name else key)
