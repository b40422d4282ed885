"""What neptune_scale accepts: the checks its client makes, with their TypeError and ValueError."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

MAX_ID_BYTES = 730
MAX_PATH_BYTES = 1024
MAX_STEP = 1_000_000_000_000
SYSTEM = "sys/"
WRITABLE = (f"{SYSTEM}description",)


def of_type(
    name: str, value: Any, kinds: type | tuple[type, ...], *, optional: bool = True
) -> None:
    """TypeError unless `value` is of `kinds` (or None, where that is allowed)."""
    if not (isinstance(value, kinds) or (optional and value is None)):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        names = " or ".join(kind.__name__ for kind in wanted)
        raise TypeError(f"{name} must be a {names} (was {type(value)})")


def callback(name: str, value: Any) -> None:
    """TypeError unless `value` can be called, or is None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} must be a Callable or NoneType (was {type(value)})")


def project(name: str) -> str:
    """`name` if it is WORKSPACE/PROJECT; ValueError otherwise."""
    of_type("project", name, str, optional=False)
    if len(name.split("/")) != 2:
        raise ValueError(f"project is {name!r}, it should be 'workspace-name/project-name'")
    return name


def run_id(name: str, value: str) -> None:
    """ValueError unless `value` may be a run's id at Neptune: 1 to 730 bytes without '/'."""
    of_type(name, value, str, optional=False)
    text(name, value)
    if "/" in value:
        raise ValueError(f"{name} {value[:80]!r} should not contain '/'")


def text(name: str, value: str) -> None:
    """ValueError unless `value` has 1 to 730 bytes."""
    if not value:
        raise ValueError(f"{name} must not be empty")
    if (size := len(value.encode())) > MAX_ID_BYTES:
        raise ValueError(f"{name} must not exceed {MAX_ID_BYTES} bytes, got {size} bytes")


def step(value: Any, *, optional: bool = False) -> None:
    """TypeError or ValueError unless `value` is a number from 0 and below 1e12."""
    of_type("step", value, (float, int, numbers.Integral), optional=optional)
    if value is not None and not 0 <= value < MAX_STEP:
        raise ValueError(f"step must have a value between 0 and {MAX_STEP}, not {value}")


def preview(flag: Any, completion: Any) -> float | None:
    """The completion of a preview, None for a final value; ValueError where they do not fit."""
    of_type("preview", flag, bool, optional=False)
    of_type("preview_completion", completion, float)
    if not flag:
        if completion not in (None, 1.0):
            raise ValueError("preview_completion can only be specified for metric previews")
        return None
    if completion is not None and not 0.0 <= completion <= 1.0:
        raise ValueError("preview_completion must have a value between 0.0 and 1.0")
    return completion


def configs(data: Any, *, flatten: bool, cast: bool) -> dict[Any, Any]:
    """A mapping or dataclass as a dict; TypeError for anything else."""
    if is_dataclass(data) and not isinstance(data, type):
        data = asdict(data)
    if not isinstance(data, Mapping):
        raise TypeError(
            f"configs must be a dict-like object, a dataclass or None (was {type(data)})"
        )
    flat = dict(_leaves(data, "")) if flatten else dict(data)
    return {name: _cast(value) for name, value in flat.items()} if cast else flat


def config_value(value: Any) -> Any:
    """`value` as log_configs keeps it; raises TypeError for what Neptune has no type for.

    Moments become UTC (those without a zone are local), sets of texts a sorted list.
    """
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC)
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | set | tuple) and all(isinstance(v, str) for v in value):
        return sorted(set(value))
    raise TypeError(
        "it must be float, bool, int, str, datetime, or a list, set or tuple of str; "
        "flatten=True takes nested values apart, cast_unsupported=True makes texts of the rest"
    )


def _leaves(data: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        name = f"{prefix}/{key}" if prefix else str(key)
        if is_dataclass(value) and not isinstance(value, type):
            value = asdict(value)
        if isinstance(value, Mapping):
            yield from _leaves(value, name)
        else:
            yield name, value


def _cast(value: Any) -> Any:
    try:
        config_value(value)
    except TypeError:
        return "" if value is None else str(value)
    return value
