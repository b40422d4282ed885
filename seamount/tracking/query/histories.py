"""Metrics as queries name them: `NAME` or `NAME@RANK`, and their steps and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamount.tracking.store.index import Index, Point
from seamount.tracking.store.lineage import known_ancestors


def points_of(
    index: Index,
    run_id: str,
    name: str,
    rank: int,
    *,
    lineage: bool = True,
    include_previews: bool = False,
) -> list[Point]:
    """A metric's points by step, as its attempts follow on, for questions to many runs.

    Of a fork whose ancestors are not all there its own alone, and that is warned of.
    """
    lineage = lineage and bool(known_ancestors(index, run_id))
    how = {"lineage": lineage, "include_previews": include_previews}
    return index.history(run_id, name, rank, **how)


def values_of(index: Index, run_id: str, name: str, rank: int) -> tuple[list[Any], list[float]]:
    """(steps, values) of a metric by step, as its attempts follow on."""
    points = points_of(index, run_id, name, rank)
    return [p.step for p in points], [p.value for p in points]


def split_rank(name: str) -> Iterator[tuple[str, int]]:
    """What `name` may mean: rank 0's metric of that very name, else `NAME@RANK` (as in MLflow)."""
    yield name, 0
    base, at, rank = name.rpartition("@")
    if at and base and rank.isascii() and rank.isdecimal() and len(rank) < 10:
        yield base, int(rank)
