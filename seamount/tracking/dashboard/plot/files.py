"""A view as a picture file that says what it shows."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from seamount.core.errors import UserError
from seamount.tracking.dashboard.chart_data import chart_data
from seamount.tracking.dashboard.charts.chart import Chart
from seamount.tracking.dashboard.plot.embedded import Embedded, describe
from seamount.tracking.dashboard.plot.metadata import put
from seamount.tracking.dashboard.plot.picture import Look, render
from seamount.tracking.dashboard.spec import ViewSpec, page_url

LOCAL = "http://127.0.0.1:5000"  # where `seamount track ui` listens


@dataclass(frozen=True)
class PictureFile:
    """The bytes, what stands in them, and the charts that were drawn."""

    content: bytes
    embedded: Embedded
    charts: list[Chart]


def picture_file(
    view: ViewSpec,
    kind: str,
    look: Look | None = None,
    *,
    store: str | Path | None = None,
    base: str = LOCAL,
    title: str | None = None,
) -> PictureFile:
    """The view's charts as a "png" or "svg"; `base` is the dashboard that its link leads to."""
    if kind not in ("png", "svg"):
        raise UserError(f"a picture may be png or svg, not {kind[:20]!r}")
    if not view.charts:
        raise UserError("this view has no charts: there is nothing to draw")
    look = look or Look()
    charts = [chart_data(spec, store, look.size[0], view.baseline) for spec in view.charts]
    shown = title or ", ".join(name for chart in charts for name in chart.by_metric())
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    embedded = describe(view, charts, shown[:500] or "no data", now, page_url(view, base))
    content = put(render(charts, kind, look, title), embedded)
    return PictureFile(content, embedded, charts)
