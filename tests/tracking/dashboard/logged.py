"""Runs for the tests of charts."""

from __future__ import annotations

import math
from typing import Any

from seamount.tracking import Run
from seamount.tracking.store.folder import Store


def log(
    store: Store,
    run_id: str,
    metrics: dict[str, list[float]],
    *,
    steps: list[float] | None = None,
    rank: int = 0,
    name: str | None = None,
    **configs: Any,
) -> None:
    """A run with these values, one a step."""
    with Run(
        project="demo", name=name or run_id, run_id=run_id, store=store.uri, rank=rank,
        capture=False,
    ) as run:  # fmt: skip
        if configs:
            run.log_configs(configs)
        for metric, values in metrics.items():
            for place, value in enumerate(values):
                run.log_metrics({metric: value}, step=steps[place] if steps else place)


def curve(count: int, shift: float = 0.0) -> list[float]:
    return [shift + math.exp(-place / count) for place in range(count)]
