"""A few changes of each edit as unified diffs, for people who check the edit."""

from __future__ import annotations

import difflib
import gzip
from collections import Counter
from typing import Any

import orjson

from seamount.core import storage
from seamount.core.records import Document

_EACH = 5
# A comparison takes the square of the lines at worst, so only the beginning of a text is compared.
_CHARACTERS = 20_000


class Samples:
    """The first documents that each edit changed; those of one batch."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._rows: list[dict[str, Any]] = []

    def add(self, edit: str, document: Document, text: str) -> None:
        """Remember that `edit` made `text` of a document, unless enough are remembered."""
        if self._taken[edit] < _EACH:
            self._taken[edit] += 1
            self._rows.append(
                {
                    "edit": edit,
                    "id": document.id,
                    "component": document.component,
                    "bytes_removed": len(document.text.encode()) - len(text.encode()),
                    "diff": unified_diff(document.text, text, document.id, edit),
                }
            )

    def write(self, url: str) -> None:
        """One JSON object a line, gzip; no file where nothing was changed."""
        if not self._rows:
            return
        with (
            storage.atomic_write(url) as stream,
            gzip.GzipFile("", "wb", 1, stream, mtime=0) as packed,
        ):
            packed.writelines(orjson.dumps(row) + b"\n" for row in self._rows)


def unified_diff(before: str, after: str, name: str, edit: str) -> str:
    """The difference of two texts line by line, with one line around it."""
    a, b = before[:_CHARACTERS].split("\n"), after[:_CHARACTERS].split("\n")
    return "\n".join(difflib.unified_diff(a, b, name, f"{name} after {edit}", n=1, lineterm=""))
