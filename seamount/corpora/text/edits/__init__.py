"""Changes to a text, one a file, found by file name; a component's `edits` run before its filters.

An edit module has one function:

    edit(text: str, **parameters) -> str
        The changed text. Bytes taken away are counted in the ledger under the edit's name.

or, like a filter, `prepare(**parameters)` which gives such a function of the text alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from seamount.core import registry
from seamount.corpora.text.catalog import EDITS, filter_name
from seamount.corpora.text.filters import Entry, parameters, prepared

Edit = Callable[[str], str]


def load_edits(entries: Iterable[Entry]) -> list[tuple[str, Edit]]:
    """(name, edit) for each entry of a component's `edits`."""
    return [(filter_name(entry), _edit(entry)) for entry in entries]


def _edit(entry: Entry) -> Edit:
    name = filter_name(entry)
    module = registry.load(EDITS, name, "edit")
    if hasattr(module, "prepare"):
        return prepared("edit", module, entry)
    return partial(module.edit, **parameters("edit", name, module.edit, entry))
