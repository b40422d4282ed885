"""Images, sounds, films and texts that runs logged by step, side by side."""

from __future__ import annotations

from typing import Any

from seamount.tracking.dashboard.run_files import kind_of
from seamount.tracking.store import series
from seamount.tracking.store.index import Index

MAX_SERIES = 500
MAX_STEPS = 2_000
MAX_CHARS = 20_000


def media_series(index: Index, run_ids: list[str]) -> list[dict[str, Any]]:
    """[{"name", "kind"}] of the series of files and texts that any of the runs has, by name."""
    found: set[tuple[str, str]] = set()
    for run_id in run_ids:
        for table, name, rank in series.names(index, run_id):
            if rank == 0 and table in ("file_series", "strings") and _is_media(name):
                found.add((name, table))
    return [{"name": name, "kind": kind} for name, kind in sorted(found)[:MAX_SERIES]]


def media_of(index: Index, run_id: str, name: str, kind: str) -> dict[str, Any]:
    """{"entries": [{"step", "kind", "file" or "text", ...}], "cut"} of a series, by step."""
    if kind == "strings":
        rows = series.strings(index, run_id, name)
        entries = [
            {"step": step, "kind": "text", "text": text[:MAX_CHARS], "cut": len(text) > MAX_CHARS}
            for step, text in rows[:MAX_STEPS]
        ]
        return {"entries": entries, "cut": len(rows) > MAX_STEPS}
    files = series.files(index, run_id, name)
    entries = [
        {"step": each["step"], "kind": kind_of(each["path"], each["mime"]), "file": each["path"],
         "size_bytes": each["size_bytes"]}
        for each in files[:MAX_STEPS]
    ]  # fmt: skip
    return {"entries": entries, "cut": len(files) > MAX_STEPS}


def _is_media(name: str) -> bool:
    """The console has a place of its own."""
    return not name.startswith(("runtime/stdout", "runtime/stderr"))
