"""Points of series as lists of rows, ready to be made into frames."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from seamount.tracking.compat.neptune_query.attributes import CELLS, cell, lowest_ranks
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import joins, known_ancestors, metric_keys

StepRange = tuple[float | None, float | None]


def metric_names(index: Index, run_id: str, *, lineage: bool, previews: bool) -> dict[str, int]:
    """Metric -> the lowest rank that logged it."""
    ranks: dict[str, int] = {}
    for name, rank in metric_keys(index, run_id, lineage=lineage, include_previews=previews):
        ranks[name] = min(rank, ranks.get(name, rank))
    return ranks


def metric(
    index: Index, run_id: str, name: str, rank: int, *, lineage: bool, previews: bool
) -> dict[str, Any]:
    """Columns step, value, absolute_time (us), is_preview, preview_completion; a point a step.

    Of points logged at one step the newest counts. Where an ancestor of a fork is gone, the run's
    own points come back, and it is warned of.
    """
    import numpy as np

    joined = lineage and bool(known_ancestors(index, run_id))
    found = index.columns(run_id, name, rank, lineage=joined, include_previews=previews)
    steps = found.steps.astype(np.float64)
    newest = np.append(steps[1:] != steps[:-1], True)[: len(steps)]
    previews = found.previews[newest]
    is_preview = ~np.isnan(previews)
    return {
        "step": steps[newest],
        "value": found.values[newest],
        "absolute_time": found.times_us[newest],
        "is_preview": is_preview,
        # A final point is complete; Neptune takes a preview that does not say so for begun.
        "preview_completion": np.where(is_preview, np.maximum(previews, 0.0), 1.0),
    }


def cut(columns: dict[str, Any], steps: StepRange, tail: int | None) -> dict[str, Any]:
    """The points within `steps` (both ends belong to it), of those the last `tail`."""
    low = -math.inf if steps[0] is None else steps[0]
    high = math.inf if steps[1] is None else steps[1]
    inside = (columns["step"] >= low) & (columns["step"] <= high)
    kept = {name: values[inside] for name, values in columns.items()}
    return kept if tail is None else {name: values[-tail:] for name, values in kept.items()}


def series(
    index: Index, table: str, run_id: str, name: str, *, lineage: bool
) -> dict[float, tuple[Any, int]]:
    """Step -> (cell, time in us) of a series that is no metric, by step; the newest of each."""
    found: dict[float, tuple[Any, int]] = {}
    above = known_ancestors(index, run_id) if lineage and joins(name) else []
    for ancestor in reversed(above):
        found |= _rows(index, table, ancestor.run_id, name, ancestor.up_to)
    found |= _rows(index, table, run_id, name, math.inf)
    return dict(sorted(found.items()))


def _rows(
    index: Index, table: str, run_id: str, name: str, up_to: float
) -> Iterator[tuple[float, tuple[Any, int]]]:
    query = (
        f"SELECT step, time_us, {CELLS[table]} FROM {table} WHERE run_id = ? AND name = ?"
        " AND rank = ? AND step <= ? ORDER BY step, time_us, segment_id, sequence"
    )
    for rank in lowest_ranks(index, table, name, [run_id]).values():
        for step, time_us, *row in index.db.execute(query, (run_id, name, rank, up_to)):
            yield float(step), (cell(table, run_id, tuple(row)), time_us)
