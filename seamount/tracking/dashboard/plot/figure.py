"""A view's charts drawn by matplotlib: one chart, or a grid of them with one legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seamount.core.wording import one_line
from seamount.tracking.dashboard.chart_data import NOTHING
from seamount.tracking.dashboard.charts.chart import Chart, Line
from seamount.tracking.dashboard.plot.axes import set_scales, set_ticks, x_unit
from seamount.tracking.dashboard.plot.legend import (
    LEGEND_ROW,
    NOTE_ROW,
    draw_legend,
    legend_of,
    notes_in_lines,
    short_name,
)
from seamount.tracking.dashboard.plot.style import FONT_SIZE, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 100
MAX_PANELS = 30
_MOST_BELOW = 0.4  # of one chart's height, for names and notes
_RAW_ALPHA, _BAND_ALPHA = 0.25, 0.18


@dataclass(frozen=True)
class Panel:
    """One of the charts of a picture: a metric, or all of a chart that is not split."""

    title: str
    chart: Chart
    lines: list[Line]


def panels_of(charts: Sequence[Chart]) -> list[Panel]:
    """The panels of a picture, in order."""
    return [
        Panel(_title(chart, name), chart, lines)
        for chart in charts
        for name, lines in chart.by_metric().items()
    ]


def _title(chart: Chart, metric: str) -> str:
    given = chart.spec.title
    if given is None or not chart.spec.split:
        return given or metric
    return given if len(chart.by_metric()) == 1 else f"{given}: {metric}"


def draw(panels: list[Panel], size: tuple[int, int], colours: Theme, title: str | None) -> Figure:
    """The figure: `size` pixels for one chart, and as large as a grid of such charts needs."""
    from matplotlib.figure import Figure

    given, panels = panels, panels[:MAX_PANELS]
    columns = 1 if len(panels) < 2 else 2 if len(panels) < 5 else 3
    rows, several = max(1, math.ceil(len(panels) / columns)), len(panels) > 1
    width, height = size[0] * columns, size[1] * rows
    styles = _styles(panels, colours)
    notes = notes_in_lines([panel.chart for panel in panels], len(given) - len(panels), width)
    room = height * _MOST_BELOW if not several else 12 * LEGEND_ROW
    legend = legend_of(styles, width, room)
    below = legend.height + len(notes) * NOTE_ROW + 6
    above = 34 if title and several else 0
    height += int(below + above) if several else 0
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, layout="constrained")
    inside = (0, below / height, 1, 1 - (below + above) / height)
    figure.get_layout_engine().set(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.06, rect=inside)
    if title and several:
        heading = {"fontsize": FONT_SIZE + 3, "va": "top"}
        figure.text(14 / width, 1 - 10 / height, _cut(title, 140), **heading)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        _draw_panel(axes, panel, styles, colours)
        if not several:
            axes.set_title(_cut(title or panel.title, 110))
    if not panels:
        figure.text(0.5, 0.5, NOTHING, ha="center", color=colours.muted)
    draw_legend(figure, legend, len(notes) * NOTE_ROW / height)
    text = {"fontsize": FONT_SIZE - 2, "color": colours.muted, "linespacing": 1.35}
    figure.text(14 / width, 7 / height, "\n".join(notes), va="bottom", **text)
    return figure


def _styles(panels: list[Panel], colours: Theme) -> dict[str, dict[str, Any]]:
    """Name -> how its line is drawn, the same in every panel."""
    styles: dict[str, dict[str, Any]] = {}
    for line in (line for panel in panels for line in panel.lines):
        if line.name in styles:
            styles[line.name]["slow"] |= line.straggler
        elif line.baseline:
            how = {"color": colours.baseline, "linestyle": (0, (4, 2)), "linewidth": 2.2}
            styles[line.name] = how | {"zorder": 1.8, "slow": line.straggler, "base": True}
        else:
            number = sum(not each["base"] for each in styles.values())
            how = colours.line(number) | {"linewidth": 1.4, "zorder": 2.2}
            styles[line.name] = how | {"slow": line.straggler, "base": False}
    for name, how in styles.items():
        marks = [*(["baseline"] if how["base"] else []), *(["slowest"] if how.pop("slow") else [])]
        how["label"] = short_name(name) + (f" [{', '.join(marks)}]" if marks else "")
        del how["base"]
    return styles


def _draw_panel(
    axes: Axes, panel: Panel, styles: dict[str, dict[str, Any]], colours: Theme
) -> None:
    unit, label = x_unit(panel.chart)
    set_scales(axes, panel.chart)
    axes.grid(True, which="major", color=colours.grid, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)
    axes.tick_params(length=0, pad=5)
    axes.tick_params(which="minor", length=0)
    for line in panel.lines:
        _draw_line(axes, line, unit, styles[line.name], log=panel.chart.spec.y_scale == "log")
    _bad_marks(axes, panel.lines, unit, styles, colours)
    set_ticks(axes, panel.chart)
    axes.set_title(_cut(panel.title, 70))
    axes.set_xlabel(_cut(label, 80))


def _draw_line(axes: Axes, line: Line, unit: float, style: dict[str, Any], *, log: bool) -> None:
    x = line.x / unit
    colour, zorder = style["color"], style["zorder"]
    if line.raw is not None:
        raw_x, raw_y = line.raw
        how = {"color": colour, "alpha": _RAW_ALPHA, "linewidth": 0.9, "zorder": zorder - 0.2}
        axes.plot(raw_x / unit, raw_y, **how)
    if line.low is not None:
        low = np.where(line.low > 0, line.low, np.nan) if log else line.low
        how = {"color": colour, "alpha": _BAND_ALPHA, "linewidth": 0, "zorder": zorder - 0.3}
        axes.fill_between(x, low, line.high, **how)
    axes.plot(x, line.y, solid_joinstyle="round", **style)
    alone = _alone(line.y)
    if alone.any():
        how = {"linestyle": "none", "marker": "o", "markersize": 4, "zorder": zorder}
        axes.plot(x[alone], line.y[alone], color=colour, **how)


def _alone(y: Any) -> Any:
    """Points between two gaps, which no line would show."""
    there = np.concatenate([[False], np.isfinite(y), [False]])
    return there[1:-1] & ~there[:-2] & ~there[2:]


def _bad_marks(
    axes: Axes, lines: list[Line], unit: float, styles: dict[str, dict[str, Any]], colours: Theme
) -> None:
    """NaN as a cross and -inf as a triangle at the bottom, inf at the top; the first in words."""
    kinds = (("nan", "x", 0.02), ("inf", "^", 0.98), ("-inf", "v", 0.02))
    for line in lines:
        for value, marker, height in kinds:
            places = [bad.x / unit for bad in line.bad if bad.value == value]
            if places:
                axes.plot(
                    places, [height] * len(places), transform=axes.get_xaxis_transform(),
                    linestyle="none", marker=marker, markersize=6, markeredgewidth=1.6,
                    color=styles[line.name]["color"], zorder=4, clip_on=False,
                )  # fmt: skip
    first = min(
        (line.first_bad for line in lines if line.first_bad is not None),
        key=lambda bad: (bad.step, bad.rank),
        default=None,
    )
    if first is not None:
        word = {"nan": "NaN", "inf": "infinity", "-inf": "-infinity"}[first.value]
        text = f"first {word}: step {first.step:.15g}, rank {first.rank}"
        axes.annotate(
            text, (1, 1), (0, 8), xycoords="axes fraction", textcoords="offset points",
            ha="right", va="bottom", color=colours.bad, fontsize=FONT_SIZE - 1,
        )  # fmt: skip


def _cut(text: str, limit: int) -> str:
    return one_line(text, limit)
