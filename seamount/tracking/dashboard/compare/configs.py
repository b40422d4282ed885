"""Configs of runs beside a baseline, leaf by leaf; and one configuration beside its next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seamount.tracking.configs import as_text

MAX_ROWS = 5_000
MAX_CHARS = 2_000
ABSENT = None


def compare_configs(
    columns: Sequence[Mapping[str, Any]], *, everything: bool = False, search: str = ""
) -> dict[str, Any]:
    """{"rows": [{"name", "different", "cells"}], "total", "different", "notes"}, by name.

    The first column is the baseline. A cell is {"text", "cut", "changed"} (its text as JSON, or as
    it is if it is text), None where the run has no such config. Nested values are compared leaf by
    leaf, with `/` between their names.
    """
    flat = [dict(_leaves(values)) for values in columns]
    names = sorted({name for values in flat for name in values})
    names = [name for name in names if search.lower() in name.lower()]
    rows = [_row(name, flat) for name in names]
    different = [row for row in rows if row["different"]]
    shown = rows if everything else different
    notes = []
    if len(shown) > MAX_ROWS:
        notes.append(f"the first {MAX_ROWS:,} of {len(shown):,} configs: search for others")
    return {
        "rows": shown[:MAX_ROWS], "total": len(names), "different": len(different), "notes": notes
    }  # fmt: skip


def _row(name: str, flat: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    texts = [_key(values[name]) if name in values else ABSENT for values in flat]
    cells = [
        _cell(values[name], text != texts[0]) if name in values else ABSENT
        for values, text in zip(flat, texts, strict=True)
    ]
    return {"name": name, "different": len(set(texts)) > 1, "cells": cells}


def _cell(value: Any, changed: bool) -> dict[str, Any]:
    text = as_text(value)
    return {"text": text[:MAX_CHARS], "cut": len(text) > MAX_CHARS, "changed": changed}


def _key(value: Any) -> str:
    """Equal for equal values of one type: 1, 1.0, "1" and true all differ."""
    return f"{type(value).__name__}:{as_text(value)}"


def _leaves(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        name = f"{above}/{key}" if above else str(key)
        if isinstance(value, dict) and value:
            yield from _leaves(value, name)
        else:
            yield name, value
