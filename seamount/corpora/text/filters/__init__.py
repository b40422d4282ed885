"""Quality rules, one a file, found by file name; a catalog component lists the ones it wants.

A rule module has one of two functions:

    reason(text: str, statistics: TextStatistics, **parameters) -> str | None
        Why the document is dropped (a short constant phrase, counted in the ledger), or None.
    prepare(**parameters) -> Rule
        For rules that load something first or need the document's id: called once in each worker.

It may have besides:

    files(**parameters) -> list[str]
        URLs of the files that it loads: their content decides as much as the parameters do.
    passage(text: str, reason: str) -> str
        The place in a dropped text that `reason` speaks of, for people who check the rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import orjson

from seamount.core import registry, storage
from seamount.core.errors import UserError
from seamount.corpora.text.catalog import FILTERS, filter_name

if TYPE_CHECKING:
    from seamount.corpora.text.text_statistics import TextStatistics

Entry = str | dict[str, dict[str, Any]]


class Rule(Protocol):
    """Why a document is dropped, or None; `document_id` serves rules that draw by lot."""

    def __call__(self, text: str, statistics: TextStatistics, document_id: str = "") -> str | None:
        """A short phrase, or None."""


def load_rules(entries: Iterable[Entry]) -> list[tuple[str, Rule]]:
    """(name, rule) for each entry of a component's `filters`."""
    return [(filter_name(entry), _rule(entry)) for entry in entries]


def _rule(entry: Entry) -> Rule:
    name = filter_name(entry)
    module = registry.load(FILTERS, name, "filter")
    if hasattr(module, "prepare"):
        return prepared("filter", module, entry)
    given = parameters("filter", name, module.reason, entry)
    return lambda text, statistics, document_id="": module.reason(text, statistics, **given)


def prepared(kind: str, module: ModuleType, entry: Entry) -> Any:
    """What `module.prepare` makes of an entry; kept for the next batch of the same worker as long
    as the files behind it stay what they are.
    """
    given = parameters(kind, filter_name(entry), module.prepare, entry)
    loaded = module.files(**given) if hasattr(module, "files") else []
    marks = tuple(storage.sha256(url) for url in loaded if storage.exists(url))
    return _prepared(module, orjson.dumps(given, option=orjson.OPT_SORT_KEYS), marks)


@lru_cache(maxsize=32)
def _prepared(module: ModuleType, given: bytes, marks: tuple[str, ...]) -> Any:
    return module.prepare(**orjson.loads(given))


def parameters(kind: str, name: str, function: Callable[..., Any], entry: Entry) -> dict[str, Any]:
    """What an entry gives to the keyword parameters of `function`.

    Raises UserError for one that is unknown, missing, or of another type than its default.
    """
    given = (entry[name] if isinstance(entry, dict) else None) or {}
    known = {
        p.name: p.default
        for p in inspect.signature(function).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for key, value in given.items():
        if key not in known:
            raise UserError(f"{kind} {name!r} has no parameter {key!r}: {_choice(known)}")
        if not _fits(value, known[key]):
            wanted = type(known[key]).__name__
            raise UserError(f"{kind} {name!r}: {key} must be of type {wanted}, given {value!r}")
    for key, default in known.items():
        if default is inspect.Parameter.empty and key not in given:
            raise UserError(f"{kind} {name!r} needs the parameter {key!r}")
    return dict(given)


def _choice(known: dict[str, Any]) -> str:
    return f"known: {', '.join(known)}" if known else "it has none"


def _fits(value: Any, default: Any) -> bool:
    if default is inspect.Parameter.empty or default is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, float):
        return isinstance(value, int | float)
    if isinstance(default, tuple):
        return isinstance(value, list | tuple) and all(_fits(v, default[0]) for v in value)
    return isinstance(value, type(default))


def outside_files(package: str, entries: Iterable[Entry]) -> list[str]:
    """URLs of the files that the entries of `filters` or `edits` load (models, benchmarks)."""
    urls: list[str] = []
    for entry in entries:
        if not _names_a_file(entry):
            continue
        module = registry.load(package, filter_name(entry), "rule")
        if hasattr(module, "files"):
            given = parameters("rule", filter_name(entry), module.prepare, entry)
            urls.extend(module.files(**given))
    return urls


def _names_a_file(entry: Entry) -> bool:
    """Whether it may, as seen without loading the rule (which costs a second)."""
    given = (entry[filter_name(entry)] if isinstance(entry, dict) else None) or {}
    return any(isinstance(value, str | list | tuple) for value in given.values())
