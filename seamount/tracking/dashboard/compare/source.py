"""The source of runs beside a baseline's: commits, and the differences from them file by file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from seamount.core.errors import SeamountError
from seamount.tracking.dashboard.run_files import find_file
from seamount.tracking.query.audits import Source, source_of
from seamount.tracking.query.run_view import RunView
from seamount.tracking.store.index import Index

MAX_PATCH_BYTES = 1 << 20
MAX_FILES = 200
MAX_LINES = 1_500  # of a file's patch that is compared line by line
_SHOWN_LINES = 400
_FACTS = ("commit", "branch", "dirty", "entry_point", "command", "python", "host")
_HEAD = re.compile(r"^diff --git ", re.M)


def compare_source(views: list[RunView], index: Index) -> list[dict[str, Any]]:
    """For each run, the baseline first: facts, packages that differ, and its patch's files.

    A file is {"name", "status", "lines", "cut"}: status `same`, `added` and `removed` (its patch
    stands in this run alone, or in the baseline alone), or `changed`; lines are a unified diff of
    the two patches, or the patch itself.
    """
    sources = [source_of(view) for view in views]
    patches = [patch_of(view, source, index) for view, source in zip(views, sources, strict=True)]
    base = patches[0]
    return [
        {
            "facts": {name: source.tags.get(name) for name in _FACTS},
            "packages": _packages(sources[0], source),
            "has_diff": source.has_diff,
            "files": _files(base, patch, place == 0),
        }
        for place, (source, patch) in enumerate(zip(sources, patches, strict=True))
    ]


def patch_of(view: RunView, source: Source, index: Index) -> dict[str, list[str]]:
    """File -> lines of its part of the run's diff.patch, the first MiB of it."""
    if not source.has_diff:
        return {}
    try:
        with find_file(view, index, f"{source.namespace}/diff.patch").path.open("rb") as stream:
            text = stream.read(MAX_PATCH_BYTES).decode("utf-8", "replace")
    except (SeamountError, OSError):
        return {}
    return split_patch(text)


def split_patch(text: str) -> dict[str, list[str]]:
    """File -> the lines of its part of a git diff."""
    found: dict[str, list[str]] = {}
    for part in _HEAD.split(text)[1:]:
        lines = part.split("\n")
        head = lines[0]
        name = head[len(head) // 2 + 1 :].removeprefix("b/") if " b/" in head else head
        found[name] = [line.rstrip("\r") for line in lines[1:] if line]
    return found


def _files(
    base: Mapping[str, list[str]], mine: Mapping[str, list[str]], is_base: bool
) -> list[dict[str, Any]]:
    names = sorted(base.keys() | mine.keys())[:MAX_FILES]
    if is_base:
        return [_file(name, "own", base[name]) for name in names if name in base]
    found = []
    for name in names:
        if name not in base:
            found.append(_file(name, "added", mine[name]))
        elif name not in mine:
            found.append(_file(name, "removed", base[name]))
        elif _body(base[name]) == _body(mine[name]):
            found.append(_file(name, "same", []))
        else:
            found.append(_changed(name, base[name], mine[name]))
    return found


def _changed(name: str, base: list[str], mine: list[str]) -> dict[str, Any]:
    if max(len(base), len(mine)) > MAX_LINES:
        return _file(name, "changed", mine) | {"cut": True}
    lines = difflib.unified_diff(_body(base), _body(mine), "baseline", "this run", n=2, lineterm="")
    return _file(name, "changed", list(lines))


def _body(lines: list[str]) -> list[str]:
    """Without the line of blob names, which differ whenever anything does."""
    return [line for line in lines if not line.startswith("index ")]


def _file(name: str, status: str, lines: list[str]) -> dict[str, Any]:
    shown = [line[:500] for line in lines[:_SHOWN_LINES]]
    return {"name": name, "status": status, "lines": shown, "cut": len(lines) > _SHOWN_LINES}


def _packages(base: Source, mine: Source) -> dict[str, list[str]]:
    """Packages (name-version) that only one of the two has."""
    before, after = set(map(str, base.packages)), set(map(str, mine.packages))
    return {
        "only_here": sorted(after - before)[:200],
        "only_baseline": sorted(before - after)[:200],
    }
