"""Quality rules, one a file, found by file name; a catalog component lists the ones it wants.

A rule module has one function:

    reason(text: str, statistics: TextStatistics, **parameters) -> str | None
        Why the document is dropped (a short constant phrase, counted in the ledger), or None.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from seamount.core import registry
from seamount.core.errors import UserError
from seamount.corpora.text.catalog import FILTERS, filter_name

Rule = Callable[..., str | None]


def load_rules(entries: tuple[str | dict[str, dict[str, Any]], ...]) -> list[tuple[str, Rule]]:
    """(name, rule) for each entry of a component's `filters`."""
    rules: list[tuple[str, Rule]] = []
    for entry in entries:
        name = filter_name(entry)
        parameters = entry[name] if isinstance(entry, dict) else {}
        rule = registry.load(FILTERS, name, "filter").reason
        unknown = set(parameters or {}) - set(rule.__kwdefaults__ or {})
        if unknown:
            raise UserError(f"filter {name!r} has no parameter {sorted(unknown)[0]!r}")
        rules.append((name, partial(rule, **(parameters or {}))))
    return rules
