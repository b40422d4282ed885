"""Run with the dict-like calls of the older neptune client: run["a/b"] = 1, run["loss"].append(2).

from seamount.tracking.compat.neptune_scale.legacy import Run
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from seamount.tracking.compat.neptune_scale.api import run

__all__ = ["Run"]

Value = float | dict[str, Any]


class Attribute:
    """A path of a run, to log below."""

    def __init__(self, run: Run, path: str) -> None:
        self._run, self._path = run, path

    def assign(self, value: Any, *, wait: bool = False) -> None:
        """Log a single value, or those of a nested dict."""
        self._run.log_configs(accumulate_dict_values(value, self._path))

    def append(
        self,
        value: Value,
        *,
        step: float | int,
        preview: bool = False,
        preview_completion: float | None = None,
        timestamp: float | datetime | None = None,
        wait: bool = False,
        **kwargs: Any,
    ) -> None:
        """Log a point of a metric, or one of each in a nested dict."""
        if kwargs:
            warnings.warn(f"append() does not take {', '.join(kwargs)}: passed over", stacklevel=2)
        if isinstance(timestamp, float):
            timestamp = datetime.fromtimestamp(timestamp)
        self._run.log_metrics(
            accumulate_dict_values(value, self._path),
            step,
            timestamp=timestamp,
            preview=preview,
            preview_completion=preview_completion,
        )

    def extend(
        self,
        values: Collection[float | int],
        *,
        steps: Collection[float | int],
        timestamps: Collection[float | datetime] | None = None,
        previews: Collection[bool] | None = None,
        preview_completions: Collection[float] | None = None,
        wait: bool = False,
        **kwargs: Any,
    ) -> None:
        """Log several points; ValueError where the collections differ in length."""
        given = {"steps": steps, "timestamps": timestamps, "previews": previews}
        given["preview_completions"] = preview_completions
        for name, other in given.items():
            if other is not None and len(other) != len(values):
                raise ValueError(f"{name} has {len(other)} entries for {len(values)} values")
        rows = itertools.zip_longest(
            values, steps, timestamps or (), previews or (), preview_completions or ()
        )
        for value, step, time, preview, completion in rows:
            self.append(
                value, step=step, timestamp=time, preview=bool(preview),
                preview_completion=completion, **kwargs,
            )  # fmt: skip

    def add(self, values: str | run.Tags, *, wait: bool = False) -> None:
        """Add tags; the path is sys/tags or sys/group_tags."""
        self._run.log(tags_add={self._path: (values,) if isinstance(values, str) else values})

    def remove(self, values: str | run.Tags, *, wait: bool = False) -> None:
        """Take tags away."""
        self._run.log(tags_remove={self._path: (values,) if isinstance(values, str) else values})


class Run(run.Run):
    """The Run of neptune_scale, with paths as keys."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def __getitem__(self, path: str) -> Attribute:
        return Attribute(self, cleanup_path(path))

    def __setitem__(self, key: str, value: Any) -> None:
        self[key].assign(value)


def cleanup_path(path: str) -> str:
    """`path` without its first slash; ValueError for empty parts or spaces around one."""
    parts = path.removeprefix("/").split("/")
    if any(not part or part != part.strip() for part in parts):
        raise ValueError(
            f"Invalid path: `{path}`. Its parts must not be empty, and hold no space at their ends"
        )
    return "/".join(parts)


def accumulate_dict_values(value: Any, path_or_base: str) -> dict[str, Any]:
    """A nested dict's values by their paths; a single value under the path itself."""
    if not isinstance(value, dict):
        return {path_or_base: value}
    return {"/".join(path): leaf for path, leaf in iter_nested(value, path_or_base)}


def iter_nested(dict_: dict[str, Any], path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(parts of the path, value) of every leaf; ValueError for an empty dict."""
    if not dict_:
        raise ValueError("The dictionary cannot be empty or contain empty nested dictionaries.")
    for key, value in dict_.items():
        if isinstance(value, dict):
            yield from iter_nested(value, f"{path}/{key}")
        else:
            yield (*path.split("/"), key), value
