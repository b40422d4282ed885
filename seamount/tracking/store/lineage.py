"""Lineage: the runs that a fork's history goes back to, and up to which step of each.

A fork from `parent` at step s has the parent's points of steps up to and with s before its own, and
so on to the root. Nothing is copied: readers ask here which runs to join. What counts the seconds
of one process (PROCESS_ONLY) is never joined.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError

if TYPE_CHECKING:
    from seamount.tracking.store.index import Index

log = logging.getLogger("seamount.tracking")

PROCESS_ONLY = ("system/", "runtime/")
Key = tuple[str, int]  # metric name, rank

_TOUCH = """WITH RECURSIVE later(run_id) AS (
    SELECT run_id FROM runs WHERE fork_run_id = ?1 AND fork_step >= ?2
    UNION SELECT runs.run_id FROM runs JOIN later ON runs.fork_run_id = later.run_id)
    UPDATE runs SET revision = ?3 WHERE run_id IN (SELECT run_id FROM later)"""
_DESCENDANTS = """WITH RECURSIVE later(run_id, generation) AS (
    SELECT run_id, 1 FROM runs WHERE fork_run_id = ?1
    UNION SELECT runs.run_id, generation + 1 FROM runs JOIN later
    ON runs.fork_run_id = later.run_id AND generation < 10000)
    SELECT run_id, generation, fork_run_id, fork_step, deleted FROM later JOIN runs USING (run_id)
    WHERE run_id <> ?1 ORDER BY generation, created_us, run_id"""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """Points of `run_id` up to and with step `up_to` are a fork's; `generation` 1 is the parent."""

    run_id: str
    up_to: int | float
    generation: int


def trace(index: Index, run_id: str) -> tuple[list[Ancestor], str | None]:
    """(ancestors that are there, the parent first; what is wrong with the rest or None)."""
    found: list[Ancestor] = []
    seen, child, up_to = {run_id}, run_id, None
    while (fork := _fork(index, child)) is not None:
        parent, step = fork
        up_to = step if up_to is None else min(up_to, step)
        where = f"run {child!r} goes on from run {parent!r} at step {step}"
        if parent in seen:
            return found, f"{where}, which comes from it: one of the two run.json was changed"
        if not _is_there(index, parent):
            return found, (
                f"{where}, which is gone from this store: bring it back, or ask for the run's own "
                "points alone (lineage=False)"
            )
        seen.add(parent)
        found.append(Ancestor(parent, up_to, len(found) + 1))
        child = parent
    return found, None


def ancestors(index: Index, run_id: str) -> list[Ancestor]:
    """The runs whose points come before a run's own; raises UserError where one is gone."""
    found, problem = trace(index, run_id)
    if problem:
        raise UserError(problem)
    return found


def known_ancestors(index: Index, run_id: str) -> list[Ancestor]:
    """As `ancestors`, for questions to many runs: where one is gone, that is warned of and none."""
    found, problem = trace(index, run_id)
    if problem:
        log.warning("%s; the run's own points alone are counted", problem)
        return []
    return found


def joins(name: str) -> bool:
    """Whether a series of this name is joined with the ancestors'."""
    return not name.startswith(PROCESS_ONLY)


def is_fork(index: Index, run_id: str) -> bool:
    """Whether a run was forked from another."""
    return _fork(index, run_id) is not None


def forks_among(index: Index, run_ids: Any) -> set[str]:
    """Those of `run_ids` that are forks."""
    query = "SELECT run_id FROM runs WHERE fork_run_id IS NOT NULL"
    return {run_id for (run_id,) in index.db.execute(query)}.intersection(run_ids)


def inherited_series(index: Index, ancestor: Ancestor) -> Iterator[tuple[Any, ...]]:
    """Rows of the ancestor's series with a point to lend: name, rank, attempt, then Summary's."""
    query = (
        "SELECT name, rank, attempt, points, bad, last_step, last_us, last_value, min_value,"
        " max_value FROM series WHERE run_id = ? AND points > 0 AND min_step <= ?"
        " ORDER BY name, rank, attempt"
    )
    rows = index.db.execute(query, (ancestor.run_id, ancestor.up_to)).fetchall()
    return (row for row in rows if joins(row[0]))


def metric_keys(
    index: Index, run_id: str, *, lineage: bool = True, include_previews: bool = False
) -> list[Key]:
    """(name, rank) of a run's metrics and of those its ancestors lend it, sorted."""
    counted = "points + previews" if include_previews else "points"
    query = f"SELECT DISTINCT name, rank FROM series WHERE run_id = ? AND {counted} > 0"
    keys = set(index.db.execute(query, (run_id,)))
    for ancestor in known_ancestors(index, run_id) if lineage else ():
        keys.update((row[0], row[1]) for row in inherited_series(index, ancestor))
        if include_previews:  # a preview's step is known only when it is read
            below = index.db.execute(query, (ancestor.run_id,))
            keys.update(key for key in below if joins(key[0]))
    return sorted(keys)


def touch_descendants(
    db: sqlite3.Connection, run_id: str, revision: int, lowest_step: float | None
) -> None:
    """Note that forks changed with the run, where points of at most their step came to it."""
    if lowest_step is not None:
        db.execute(_TOUCH, (run_id, lowest_step, revision))


def describe(index: Index, run_id: str) -> dict[str, Any]:
    """{"run_id", "ancestors", "descendants", "problem"}: where a run stands among forks.

    Ancestors, the parent first: {"run_id", "generation", "up_to", "deleted"}; descendants by
    generation: {"run_id", "generation", "fork_run_id", "fork_step", "deleted"}.
    """
    index.run(run_id)
    found, problem = trace(index, run_id)
    columns = ("run_id", "generation", "fork_run_id", "fork_step", "deleted")
    later = [dict(zip(columns, row, strict=True)) for row in index.db.execute(
        _DESCENDANTS, (run_id,))]  # fmt: skip
    above = [
        {"run_id": a.run_id, "generation": a.generation, "up_to": a.up_to,
         "deleted": bool(index.run(a.run_id)["deleted"])}
        for a in found
    ]  # fmt: skip
    below = [row | {"deleted": bool(row["deleted"])} for row in later]
    return {"run_id": run_id, "ancestors": above, "descendants": below, "problem": problem}


def _fork(index: Index, run_id: str) -> tuple[str, int | float] | None:
    query = "SELECT fork_run_id, fork_step FROM runs WHERE run_id = ? AND fork_run_id NOT NULL"
    return index.db.execute(query, (run_id,)).fetchone()


def _is_there(index: Index, run_id: str) -> bool:
    """Known to the index, and its folder not taken away since."""
    known = index.db.execute("SELECT 1 FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    return bool(known) and (index.folder / "segments" / run_id / "run.json").exists()
