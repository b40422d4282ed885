"""What the runs of a selection have: names of configs, tags, metrics and files."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from seamount.tracking.dashboard.run_data import Runs
from seamount.tracking.query.filters import METADATA, Operand

MAX_NAMES = 20_000
_IDS = "(SELECT value FROM json_each(?1))"
_SUGGESTED = 6
_SAMPLE = 300


def attribute_names(runs: Runs, ids: Collection[str]) -> dict[str, list[str]]:
    """{"run", "config", "tag", "file", "metric"} -> names, sorted; ranks' strands are left out."""
    whole = len(ids) == len(runs.rows)
    return {
        "run": list(METADATA),
        "config": _config_names(runs, ids, whole),
        "tag": _distinct(runs, "tags", "key", ids, whole),
        "file": _distinct(runs, "files", "name", ids, whole),
        "metric": _distinct(runs, "series", "name", ids, whole),
    }


def metric_names(runs: Runs, ids: Collection[str]) -> list[str]:
    """Names of the metrics that any rank of these runs logged, sorted."""
    return _distinct(runs, "series", "name", ids, len(ids) == len(runs.rows))


def suggested_columns(runs: Runs, ids: list[str]) -> list[str]:
    """What a table shows that was not told: configs that vary, metrics that most runs have."""
    sample = ids[:_SAMPLE]
    columns = runs.configs_of(sample)
    configs = [name for name, values in columns.items() if _varies(values, len(sample))]
    found = ["state", "created", "duration", *map(_config, sorted(configs)[:_SUGGESTED])]
    return found + [str(Operand("last", name)) for name in _common_metrics(runs, sample)]


def _config(name: str) -> str:
    return str(Operand("config", name))


def _varies(values: Mapping[str, Any], runs: int) -> bool:
    kinds = {repr(value) for value in values.values() if not isinstance(value, dict | list)}
    return len(kinds) > 1 and len(values) * 2 >= runs


def _common_metrics(runs: Runs, ids: Collection[str]) -> list[str]:
    query = (
        "SELECT name, count(DISTINCT run_id) AS n FROM series WHERE rank = 0"
        f" AND name NOT LIKE 'system/%' AND run_id IN {_IDS}"
        " GROUP BY name ORDER BY n DESC, length(name), name LIMIT ?2"
    )
    rows = runs.index.db.execute(query, (json.dumps(list(ids)), _SUGGESTED))
    return sorted(name for name, _ in rows)


def _config_names(runs: Runs, ids: Collection[str], whole: bool) -> list[str]:
    if whole:
        return sorted(runs.config_names())[:MAX_NAMES]
    names = [n for n in runs.config_names() if runs.values(Operand("config", n), ids)]
    return sorted(names)[:MAX_NAMES]


def _distinct(runs: Runs, table: str, column: str, ids: Collection[str], whole: bool) -> list[str]:
    where = "" if whole else f" WHERE run_id IN {_IDS}"
    values: tuple[Any, ...] = () if whole else (json.dumps(list(ids)),)
    query = f"SELECT DISTINCT {column} FROM {table}{where} ORDER BY 1 LIMIT {MAX_NAMES}"
    return [name for (name,) in runs.index.db.execute(query, values)]
