"""Metrics thinned to one point a bucket of steps, as fetch_metric_buckets gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from seamount.tracking.compat.neptune_query.frames import Piece


def by_bucket(word: str, pieces: Sequence[Piece], limit: int) -> Any:
    """A row a bucket, columns (label, metric, x or y); at most `limit` buckets.

    The buckets are of equal width between the lowest and the highest step of all metrics; one
    without a point in any metric is left out. A metric's first bucket shows its first point, every
    other one its last; points that are not finite are not looked at.
    """
    import numpy as np
    import pandas as pd

    names = (word, "metric", "bucket")
    finite = {(label, path): _finite(columns) for label, path, columns in pieces}
    steps = np.concatenate([columns["step"] for columns in finite.values()] or [np.empty(0)])
    if not len(steps):
        return _empty(list(finite), names)
    edges = np.linspace(steps.min(), steps.max(), limit + 1)
    columns: dict[Any, Any] = {}
    for (label, path), points in finite.items():
        kept = _shown(points, edges)
        for dim, field in (("x", "step"), ("y", "value")):
            columns[label, path, dim] = pd.Series(points[field][kept[1]], index=kept[0])
    frame = pd.DataFrame(columns).sort_index()
    frame.index = pd.Index([_interval(edges, place) for place in frame.index], dtype=object)
    frame.columns = pd.MultiIndex.from_tuples(list(columns), names=names)
    return frame.sort_index(axis="columns", level=[0, 1])


def _finite(columns: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    kept = np.isfinite(columns["value"])
    return {"step": columns["step"][kept], "value": columns["value"][kept]}


def _shown(points: dict[str, Any], edges: Any) -> tuple[Any, Any]:
    """(buckets with a point, which point each shows)."""
    import numpy as np

    # Buckets are open to the left; the lowest step of all belongs to the first one.
    places = np.maximum(np.searchsorted(edges, points["step"], side="left"), 1) - 1
    places = np.minimum(places, len(edges) - 2)
    buckets, firsts = np.unique(places, return_index=True)
    lasts = np.append(firsts[1:], len(places)) - 1
    lasts[:1] = firsts[:1]
    return buckets, lasts


def _interval(edges: Any, place: int) -> Any:
    import pandas as pd

    low, high = float(edges[place]), float(edges[place + 1])
    return pd.Interval(low, high, closed="both" if place == 0 else "right")


def _empty(pairs: list[tuple[str, str]], names: Sequence[str]) -> Any:
    import pandas as pd

    every = sorted((*pair, dim) for pair in pairs for dim in ("x", "y"))
    columns = (
        pd.MultiIndex.from_tuples(every, names=names)
        if every
        else pd.MultiIndex.from_product([[], [], ["x", "y"]], names=names)
    )
    return pd.DataFrame(index=pd.Index([], dtype=object), columns=columns, dtype="float64")
