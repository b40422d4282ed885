"""Read every record of files and say what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from seamount.core.errors import CorruptData
from seamount.core.records import Quarantined
from seamount.corpora.text import formats


def check(urls: Sequence[str], report: Callable[[str], None] | None = None) -> dict[str, Any]:
    """{"files": [{"url", "documents", "quarantined": [{"line", "reason"}], "error"}]} of all files.

    `error` is null where the container is whole; `report` is called with each url when it is done.
    Raises UserError for a url where nothing stands.
    """
    files = []
    for url in _files(urls):
        files.append(check_file(url))
        if report is not None:
            report(url)
    return {"files": files}


def _files(urls: Sequence[str]) -> Iterator[str]:
    for url in urls:
        yield from formats.list_inputs(url)


def check_file(url: str) -> dict[str, Any]:
    """The entry of one file."""
    documents = 0
    quarantined = []
    error = None
    try:
        for record in formats.read(url):
            if isinstance(record, Quarantined):
                quarantined.append({"line": record.line, "reason": record.reason})
            else:
                documents += 1
    except CorruptData as problem:
        error = str(problem)
    return {"url": url, "documents": documents, "quarantined": quarantined, "error": error}


def is_broken(result: dict[str, Any]) -> bool:
    """Whether a file of a `check` result is broken; quarantined lines alone do not make it so."""
    return any(file["error"] is not None for file in result["files"])
