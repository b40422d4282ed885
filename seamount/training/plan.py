"""Which parts of a model are cut over tensor-parallel ranks. Imports no torch."""

from __future__ import annotations

from typing import Any


def tensor_plan(plan: Any, config: Any) -> dict[str, str]:
    """Module name pattern -> style for a model of `config`.

    `plan` is the family's plan.py. Its TENSOR_PLAN holds for every configuration, unless it has a
    `tensor_plan(config)`.
    """
    by_config = getattr(plan, "tensor_plan", None)
    return dict(by_config(config) if by_config else plan.TENSOR_PLAN)
