"""Which configs move a metric: rank correlation with intervals, and permutation importance.

Numbers, bools and texts of two values: Spearman's rho with the interval of Bonett & Wright
(Psychometrika 65, 2000): tanh(atanh(r) +- z * sqrt((1 + r^2 / 2) / (n - 3))). Texts of more values:
epsilon, the root of the share of rank variance between the groups (Kruskal-Wallis' H / (n - 1)),
with a bootstrap interval. Importance by permutation is measured on runs held out from a random
forest (scikit-learn, optional). What a sample is too small for is said, not guessed.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.query.filters import Column, Operand
from seamount.tracking.query.frames import Frame, frame
from seamount.tracking.query.permutation import permuted
from seamount.tracking.query.ranks import correlation, epsilon, ranks
from seamount.tracking.query.runs_table import Where, runs

FEW_RUNS = 10
_LEAST_RUNS = 4
_Z95 = 1.959963984540054
_RESAMPLES = 300
_COLUMNS = (
    "config", "kind", "runs", "effect", "low", "high", "permutation", "permutation_low",
    "permutation_high", "note",
)  # fmt: skip


@dataclass
class Effect:
    """One config: `effect` is rho (-1 to 1), or epsilon (0 to 1) where `kind` is "groups"."""

    config: str
    kind: str
    runs: int
    effect: float | None
    low: float | None
    high: float | None
    permutation: tuple[float, float, float] | None = None
    note: str = ""

    def row(self) -> tuple[Any, ...]:
        """As a row of the table."""
        permuted = self.permutation or (None, None, None)
        head = (self.config, self.kind, self.runs, self.effect, self.low, self.high)
        return (*head, *permuted, self.note)


@dataclass
class Importance:
    """Effects by size, and what one must know to read them (`notes`)."""

    metric: str
    runs: int
    effects: list[Effect]
    notes: list[str] = field(default_factory=list)

    @property
    def frame(self) -> Frame:
        """One row a config."""
        return frame(_COLUMNS, [effect.row() for effect in self.effects])


def importance(
    metric: str,
    where: Where = None,
    *,
    aggregate: str = "last",
    seed: int = 0,
    project: str | None = None,
    search: str | None = None,
    store: str | Path | None = None,
) -> Importance:
    """How strongly each config goes with an aggregate (last, min, max or mean) of a metric.

    Runs whose value is not finite or not there are left out and counted. Same runs and `seed`:
    same result. Raises UserError where fewer than 4 runs are left.
    """
    if aggregate not in ("last", "min", "max", "mean"):
        raise UserError(f"aggregate {aggregate!r} must be last, min, max or mean")
    column = Column(Operand(aggregate, metric))
    table = runs(
        where, store=store, project=project, search=search, columns=[column, "config.*"],
        sort="run_id",
    )  # fmt: skip
    key = str(column.operand)
    rows = [row for row in table.rows() if row[key] is not None and math.isfinite(row[key])]
    if len(rows) < _LEAST_RUNS:
        raise UserError(
            f"{len(rows)} of {table.total} selected runs have a finite {key}: at least "
            f"{_LEAST_RUNS} are needed"
        )
    values = [float(row[key]) for row in rows]
    names = {str(o): o.name for o in table.columns if o.kind == "config"}
    configs = {name: [row[shown] for row in rows] for shown, name in names.items()}
    found = of_columns(configs, values, seed)
    found.metric = key
    if table.total > len(rows):
        left_out = table.total - len(rows)
        found.notes.insert(0, f"{left_out} of {table.total} runs have no finite {key}")
    return found


def of_columns(configs: dict[str, list[Any]], values: list[float], seed: int = 0) -> Importance:
    """The same of plain columns; None is a run without the config."""
    varying = {name: column for name, column in configs.items() if _varies(column)}
    effects = [_effect(name, column, values, seed) for name, column in varying.items()]
    result = Importance("", len(values), effects)
    result.notes += _notes(len(values), len(configs) - len(varying), len(effects))
    _mark_twins(effects, varying)
    measured, note = permuted(varying, values, seed)
    result.notes.append(note)
    for effect in effects:
        effect.permutation = measured.get(effect.config)
    effects.sort(key=lambda e: (-abs(e.effect or 0.0), e.config))
    return result


def _varies(column: list[Any]) -> bool:
    return len({_key(value) for value in column if value is not None}) > 1


def _key(value: Any) -> str:
    return f"{type(value).__name__}:{value}"


def _effect(name: str, column: list[Any], values: list[float], seed: int) -> Effect:
    pairs = [(c, v) for c, v in zip(column, values, strict=True) if c is not None]
    results = [value for _, value in pairs]
    given = [config for config, _ in pairs]
    numbers = as_numbers(given)
    short = f"only {len(pairs)} runs have it" if len(pairs) < FEW_RUNS else ""
    if numbers is None:
        low, effect, high = _grouped([_key(value) for value in given], results, seed)
        many = len(set(map(_key, given))) > len(given) / 2
        note = short or ("nearly every run has a value of its own" if many else "")
        return Effect(name, "groups", len(pairs), effect, low, high, note=note)
    rho = correlation(ranks(numbers), ranks(results))
    low_high = (None, None) if rho is None else interval(rho, len(pairs))
    return Effect(name, "rank", len(pairs), rho, *low_high, note=short)


def as_numbers(column: list[Any]) -> list[float] | None:
    """The column as numbers to rank; two texts become 0 and 1 (in their order), more are None."""
    if all(isinstance(value, int | float) and value == value for value in column):
        return column
    texts = sorted({_key(value) for value in column})
    return [float(texts.index(_key(v))) for v in column] if len(texts) == 2 else None


def interval(rho: float, n: int) -> tuple[float | None, float | None]:
    """95 % interval of Spearman's rho (Bonett & Wright 2000); None below 4 pairs."""
    if n < _LEAST_RUNS:
        return None, None
    if abs(rho) >= 1:
        return rho, rho
    half = _Z95 * math.sqrt((1 + rho * rho / 2) / (n - 3))
    return math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)


def _grouped(
    groups: list[str], values: list[float], seed: int
) -> tuple[float | None, float | None, float | None]:
    """(low, epsilon, high) with a bootstrap interval over runs."""
    effect = epsilon(groups, values)
    if effect is None or len(values) < _LEAST_RUNS:
        return None, effect, None
    chance = random.Random(seed)
    again = []
    for _ in range(_RESAMPLES):
        picked = [chance.randrange(len(values)) for _ in values]
        drawn = epsilon([groups[i] for i in picked], [values[i] for i in picked])
        again.append(0.0 if drawn is None else drawn)
    again.sort()
    return again[int(0.025 * _RESAMPLES)], effect, again[int(0.975 * _RESAMPLES) - 1]


def _notes(n: int, constant: int, tested: int) -> list[str]:
    notes = []
    if n < FEW_RUNS:
        notes.append(f"only {n} runs: intervals are wide and the order may be chance")
    if constant:
        notes.append(f"{constant} configs are the same in all runs and left out")
    if tested >= 20:
        notes.append(
            f"{tested} configs tested: about {tested / 20:.0f} intervals miss 0 by chance alone"
        )
    return notes


def _mark_twins(effects: list[Effect], columns: dict[str, list[Any]]) -> None:
    """Configs that order (or group) all runs alike cannot be told apart: each names the first."""
    first: dict[tuple[Any, ...], str] = {}
    for effect in effects:
        shape = _shape(columns[effect.config])
        twin = first.setdefault(shape, effect.config) if shape else effect.config
        if twin != effect.config:
            effect.note = "; ".join(filter(None, (effect.note, f"changes only with {twin}")))


def _shape(column: list[Any]) -> tuple[Any, ...] | None:
    """The order of a column of numbers, up or down, or its groups; None where all differ."""
    numbers = as_numbers(column) if None not in column else None
    if numbers is not None:
        up = ranks(numbers)
        return tuple(min(up, [len(up) + 1 - rank for rank in up]))
    seen: dict[str, int] = {}
    groups = tuple(seen.setdefault(_key(value), len(seen)) for value in column)
    return groups if len(seen) < len(column) else None
