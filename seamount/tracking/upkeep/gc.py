"""`seamount track gc`: deleted runs are removed for good, and what a dead gc left is ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from seamount.core import locks
from seamount.core.errors import UserError
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index
from seamount.tracking.upkeep import removal
from seamount.tracking.upkeep.usage import run_bytes


def collect(store: Store, older_than_s: float = 0.0, *, dry_run: bool = False) -> dict[str, Any]:
    """Remove the runs that were marked as deleted more than `older_than_s` ago.

    Returns {"runs": [{"run_id", "project", "name", "bytes", "outcome"}], "ended": [run ids]}:
    `ended` are removals that an earlier gc had begun. A run that a process logs, or from which a
    remaining run was forked, is kept. Raises UserError where another gc is at work.
    """
    store.refresh()
    with locks.tried(store.folder / "gc.lock") as mine, store.index() as index:
        if not mine:
            raise UserError(f"another gc is at work in {store.folder}: wait for it to end")
        ended = removal.begun(store)
        for run_id in () if dry_run else ended:
            removal.go_on(store, index, run_id)
        due_us = (time.time() - older_than_s) * 1e6
        due = [r for r in index.runs(deleted=True) if r["deleted"] and r["deleted_us"] <= due_us]
        rows = [_one(store, index, row, dry_run) for row in _childless_first(store, due)]
    return {"runs": rows, "ended": ended, "bytes": sum(r["bytes"] for r in rows if r["gone"])}


def remove_run(store: Store, run_id: str) -> bool:
    """Remove one run that is marked as deleted; False where a process logs it."""
    with locks.held(store.folder / "gc.lock"):
        store.refresh(run_id)
        with store.index() as index:
            return removal.remove(store, index, run_id)


def _one(store: Store, index: Index, row: dict[str, Any], dry_run: bool) -> dict[str, Any]:
    run_id, outcome = row["run_id"], "removed"
    size = sum(run_bytes(store, run_id).values())
    if row["needed"]:
        outcome = "kept: a run was forked from it"
    elif dry_run:
        logged = removal.is_logged(store.run_folder(run_id))
        outcome = "kept: a process logs it" if logged else "would be removed"
    elif not removal.remove(store, index, run_id):
        outcome = "kept: a process logs it"
    told = {key: row[key] for key in ("run_id", "project", "name")}
    return told | {"bytes": size, "outcome": outcome, "gone": not outcome.startswith("kept")}


def _childless_first(store: Store, due: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """The runs, forks before what they were forked from; `needed` where a fork remains.

    The histories of a fork are read from the run it was forked from.
    """
    parents = {run_id: _parent(store, run_id) for run_id in store.run_ids()}
    waiting = {row["run_id"]: row for row in due}
    while waiting:
        held = {parent for child, parent in parents.items() if parent}
        free = [run_id for run_id in waiting if run_id not in held]
        for run_id in free:
            parents.pop(run_id, None)
            yield waiting.pop(run_id) | {"needed": False}
        if not free:
            yield from (row | {"needed": True} for row in waiting.values())
            return


def _parent(store: Store, run_id: str) -> str | None:
    try:
        return json.loads((store.run_folder(run_id) / "run.json").read_bytes()).get("fork_run_id")
    except (FileNotFoundError, ValueError):
        return None
