"""What lines are called in a legend."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from seamount.tracking.query.filter_parser import parse_operand
from seamount.tracking.query.run_view import RunView

_AXES = {"step": "step", "time": "time (UTC)", "relative": "seconds since the run began"}


def axis_label(x: str, metric: str | None) -> str:
    """What stands at the x axis."""
    return metric if metric is not None else _AXES[x]


def run_names(views: Iterable[RunView]) -> dict[str, str]:
    """Run id -> its name, with the id behind it where several runs are called so."""
    views = list(views)
    counts = Counter(view.row["name"] for view in views)
    return {
        v.run_id: v.row["name"] if counts[v.row["name"]] == 1 else f"{v.row['name']} ({v.run_id})"
        for v in views
    }


def group_of(view: RunView, attributes: Iterable[str]) -> dict[str, Any]:
    """Attribute -> the run's value, as JSON has it; None where the run has none."""
    return {name: _plain(view.known.get(str(parse_operand(name)))) for name in attributes}


def group_name(group: Mapping[str, Any]) -> str:
    """`config.lr=0.1, tag.team=a`."""
    return ", ".join(f"{name}={group_text(value)}" for name, value in group.items())


def group_text(value: Any) -> str:
    """A group's value in words: a whole number without its point, an absent one as a dash."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
