"""Permutation importance of configs on runs that a random forest has not seen (scikit-learn)."""

from __future__ import annotations

from typing import Any

LEAST_RUNS = 20
_FOLDS, _REPEATS, _TREES = 5, 5, 50

Measured = dict[str, tuple[float, float, float]]


def permuted(columns: dict[str, list[Any]], values: list[float], seed: int) -> tuple[Measured, str]:
    """(config -> (mean, 2.5th, 97.5th percentile), what was done or why it was not).

    A number is the loss of R^2 on held-out runs when a config's values are shuffled among them;
    percentiles are over folds and shuffles. Configs that go together share their importance.
    """
    if len(values) < LEAST_RUNS:
        return {}, f"no permutation importance: {len(values)} runs, at least {LEAST_RUNS} needed"
    if not columns:
        return {}, "no permutation importance: no config differs between the runs"
    try:
        import numpy as np
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.inspection import permutation_importance
        from sklearn.model_selection import KFold
    except ImportError:
        return {}, "no permutation importance: scikit-learn is not installed"
    table, target = np.array([_coded(column) for column in columns.values()]).T, np.array(values)
    drops, scores = [], []
    for fit, held in KFold(_FOLDS, shuffle=True, random_state=seed).split(table):
        forest = RandomForestRegressor(_TREES, random_state=seed, n_jobs=1)
        forest.fit(table[fit], target[fit])
        scores.append(forest.score(table[held], target[held]))
        found = permutation_importance(
            forest, table[held], target[held], n_repeats=_REPEATS, random_state=seed
        )
        drops.append(found.importances)
    spread = np.concatenate(drops, axis=1)
    score = float(np.mean(scores))
    if not score > 0:
        return {}, (
            f"no permutation importance: the forest foretells nothing of held-out runs "
            f"(R2 {score:.2f})"
        )
    low, high = np.percentile(spread, [2.5, 97.5], axis=1)
    mean = spread.mean(axis=1)
    result = {
        name: (float(mean[i]), float(low[i]), float(high[i])) for i, name in enumerate(columns)
    }
    return result, f"permutation importance: a forest with R2 {score:.2f} on held-out runs"


def _coded(column: list[Any]) -> list[float]:
    """Each value's place among the sorted ones (numbers, else texts); absent and NaN are -1.

    A forest asks for the order alone; scikit-learn takes no infinity, nothing beyond float32.
    """
    given = [None if value != value else value for value in column]
    numeric = all(isinstance(value, int | float) for value in given if value is not None)
    keys = [value if numeric or value is None else str(value) for value in given]
    ordered = sorted({key for key in keys if key is not None})
    places = {key: float(place) for place, key in enumerate(ordered)}
    return [places.get(key, -1.0) for key in keys]
