"""What the golden files and the tests both look at; imports neither of the two implementations."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

MODULES = (
    "neptune_scale",
    "neptune_scale.api.run",
    "neptune_scale.types",
    "neptune_scale.projects",
    "neptune_scale.legacy",
    "neptune_scale.exceptions",
    "neptune_query",
    "neptune_query.runs",
    "neptune_query.experimental",
    "neptune_query.filters",
    "neptune_query.types",
    "neptune_query.exceptions",
    "neptune_query.warnings",
)
PRIVATE = {  # of the real packages: helpers without a name in their documentation
    "AbstractContextManager", "warn_unsupported_params", "warn_unsupported_value_type",
    "verify_type",
}  # fmt: skip

# (label, metric) -> points (step, value, time in ms, is preview, completion)
METRICS = {
    ("exp-b", "loss"): [(1.0, 0.5, 1000, False, 1.0), (2.5, 0.25, 2000, True, 0.5)],
    ("exp-b", "value"): [(1.0, 4.0, 1500, False, 1.0)],
    ("exp-a", "loss"): [
        (0.0, 9.0, 10, False, 1.0),
        (1.0, float("nan"), 20, False, 1.0),
        (10.0, 7.0, 30, False, 1.0),
    ],
    ("exp-a", "step"): [(3.0, float("inf"), 5, False, 1.0)],
}
TEXTS = {("exp-b", "log"): [(0.0, "b0", 7)], ("exp-a", "log"): [(0.0, "a0", 8), (1.0, "a1", 9)],
         ("exp-a", "path"): [(0.0, "x", 8)]}  # fmt: skip
TABLE = {
    "exp-b": {"lr": 0.5, "steps": 3, "who": "b", "set": {"x", "y"}, "flag": True},
    "exp-a": {"lr": 0.25, "who": "a"},
    "exp-c": {},
}
BUCKETS = {  # finite points of three metrics over 0..10
    ("exp-a", "m1"): [(0.0, 1.0), (0.5, 2.0), (4.0, 3.0), (5.0, 4.0), (10.0, 5.0)],
    ("exp-a", "m2"): [(3.0, -1.0), (3.5, -2.0), (9.0, -3.0)],
    ("exp-b", "m1"): [(2.5, 7.0), (2.75, 8.0), (10.0, 9.0)],
}
BUCKET_LIMITS = (1, 2, 4, 5)

# Calls on a run, and whether (and with what) they fail when values may not be dropped.
CALLS = (
    "run.log_metrics({'a': 1}, step=0)",
    "run.log_metrics({'a': True}, step=1)",
    "run.log_metrics({'a': '2.5'}, step=2)",
    "run.log_metrics({'a': float('nan')}, step=3)",
    "run.log_metrics({'a': 'x'}, step=4)",
    "run.log_metrics({'a': None}, step=4)",
    "run.log_metrics({'a': 1}, step=-1)",
    "run.log_metrics({'a': 1}, step=1e12)",
    "run.log_metrics({'a': 1}, step=1e12 - 1)",
    "run.log_metrics({'a': 1}, step=float('nan'))",
    "run.log_metrics({'a': 1}, step='1')",
    "run.log_metrics([('a', 1)], step=5)",
    "run.log_metrics({'a': 1}, step=6, timestamp=5)",
    "run.log_metrics({'a': 1}, step=6, preview_completion=0.5)",
    "run.log_metrics({'a': 1}, step=6, preview=True, preview_completion=1.5)",
    "run.log_metrics({'a': 1}, step=6, preview=True, preview_completion=1)",
    "run.log_metrics({'a': 1}, step=6, preview='yes')",
    "run.log_metrics({5: 1}, step=7)",
    "run.log_metrics({'p' * 1025: 1}, step=7)",
    "run.log_metrics({'p' * 1024: 1}, step=7)",
    "run.log_configs(None)",
    "run.log_configs({'a': {'b': 1}})",
    "run.log_configs({'a': {'b': 1}}, flatten=True)",
    "run.log_configs({'a': None})",
    "run.log_configs({'a': None}, cast_unsupported=True)",
    "run.log_configs({'a': [1, 2]}, cast_unsupported=True)",
    "run.log_configs({'a': object()}, cast_unsupported=True)",
    "run.log_configs([1])",
    "run.log_configs(5)",
    "run.log_configs({'a': ('x', 'y'), 'b': {'z'}, 'c': ['w']})",
    "run.log_string_series({'s': 'text'}, step=1)",
    "run.log_string_series({'s': 5}, step=1)",
    "run.log_string_series({'s': 'text'}, step=None)",
    "run.log_string_series('s', step=1)",
    "run.log_histograms({'h': types.Histogram([0, 1, 2], counts=[1, 2])}, step=1)",
    "run.log_histograms({'h': types.Histogram([0, 1, 2], densities=[0.5, 0.5])}, step=1)",
    "run.log_histograms({'h': types.Histogram([0, 1, 2])}, step=1)",
    "run.log_histograms({'h': types.Histogram([0, 1, 2], [1, 2], [1, 2])}, step=1)",
    "run.log_histograms({'h': types.Histogram([0, 1, 2], counts=[1])}, step=1)",
    "run.log_histograms({'h': types.Histogram([], counts=[])}, step=1)",
    "run.log_histograms({'h': types.Histogram(list(range(514)), counts=[1] * 513)}, step=1)",
    "run.log_histograms({'h': types.Histogram(range(3), counts=[1, 2])}, step=1)",
    "run.log_histograms({'h': [1, 2]}, step=1)",
    "run.assign_files({'f': b'bytes'})",
    "run.assign_files({'f': types.File(b'bytes', 'text/csv')})",
    "run.assign_files([1])",
    "run.log_files({'fs/s': b'bytes'}, step=1)",
    "run.log_files({'fs/s': b'bytes'}, step=-1)",
    "run.add_tags(['a', 'b'])",
    "run.add_tags({'a'}, group_tags=True)",
    "run.add_tags('a')",
    "run.add_tags([1])",
    "run.remove_tags(('a',))",
    "run.log(step=8, metrics={'a': 1}, configs={'b': 2}, tags_add={'sys/tags': ['x']})",
    "run.get_experiment_url()",
    "make(run_id='')",
    "make(run_id='a/b')",
    "make(run_id=5)",
    "make(run_id='x' * 731)",
    "make(project='p')",
    "make(project='a/b/c')",
    "make(project=5)",
    "make(experiment_name='')",
    "make(fork_run_id='p')",
    "make(fork_step=1)",
    "make(async_lag_threshold=1.0)",
    "make(on_async_lag_callback=print)",
    "make(on_error_callback=5)",
    "make(creation_time=5)",
    "make(enable_console_log_capture=1)",
    "make(log_directory=5)",
    "make(mode='disabled').log_metrics({'a': 'x'}, step=1)",
    "make(mode='disabled').log_metrics({'a': 1}, step=-1)",
    "make(mode='disabled').close()",
)


def signature(call: Any) -> list[list[str]]:
    """[name, kind, default] of every parameter."""
    if inspect.isclass(call) and call.__init__ in (Warning.__init__, UserWarning.__init__):
        return [["args", "VAR_POSITIONAL", ""]]  # a builtin's, which inspect cannot tell
    return [
        [p.name, p.kind.name, "" if p.default is p.empty else repr(p.default)]
        for p in inspect.signature(call).parameters.values()
    ]


def surface(module: Any, package: str, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Public callables of a module: signatures, and of classes their methods and ancestors."""
    found: dict[str, Any] = {}
    for name in names or getattr(module, "__all__", None) or dir(module):
        value = getattr(module, name, None)
        own = getattr(value, "__module__", "").startswith(package)
        if name.startswith("_") or name in PRIVATE or not own or not callable(value):
            continue
        found[name] = _class(value) if inspect.isclass(value) else signature(value)
    return found


def _class(value: type) -> dict[str, Any]:
    public = [n for n in dir(value) if not n.startswith("_")]
    own = {n: inspect.getattr_static(value, n) for n in public if _is_own(value, n)}
    return {
        "init": signature(value),
        "ancestors": [c.__name__ for c in value.__mro__ if c.__name__.startswith("Neptune")],
        "methods": {n: signature(getattr(value, n)) for n, v in own.items() if _is_method(v)},
        "properties": sorted(n for n, v in own.items() if isinstance(v, property)),
    }


def _is_method(value: Any) -> bool:
    return inspect.isfunction(value) or isinstance(value, staticmethod | classmethod)


def _is_own(value: type, name: str) -> bool:
    return any(name in c.__dict__ for c in value.__mro__ if "neptune" in c.__module__)


def described(frame: Any) -> dict[str, Any]:
    """A frame's shape, order, types and cells as JSON values."""
    return {
        "index_names": list(frame.index.names),
        "index": [repr(label) for label in frame.index],
        "column_names": list(frame.columns.names),
        "columns": [repr(label) for label in frame.columns],
        "types": [_kind(kind) for kind in frame.dtypes],
        "cells": [[_cell(cell) for cell in row] for row in frame.itertuples(index=False)],
    }


def _kind(dtype: Any) -> str:
    """The type of a column; pandas' two ways to hold texts are one."""
    return "object" if str(dtype) in ("str", "string") else str(dtype)


def _cell(cell: Any) -> str:
    missing = cell is None or (not isinstance(cell, set | str | list) and cell != cell)
    return "missing" if missing else repr(sorted(cell)) if isinstance(cell, set) else repr(cell)
