"""Axes of a picture: scales, ticks, units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seamount.tracking.dashboard.charts.chart import Chart
from seamount.tracking.dashboard.plot.style import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DAY_S = 86_400.0
_UNITS = ((2 * _DAY_S, _DAY_S, "days"), (7200, 3600, "hours"), (180, 60, "minutes"))


def x_unit(chart: Chart) -> tuple[float, str]:
    """(what x is divided by to be drawn, the axis's label)."""
    if chart.spec.x == "time":
        return _DAY_S, chart.x  # matplotlib counts days
    if chart.spec.x == "relative":
        ends = chart.spec.x_range or chart.x_extent or (0.0, 0.0)
        for least, unit, name in _UNITS:
            if max(map(abs, ends)) >= least:
                return unit, f"{name} since the run began"
    return 1.0, chart.x


def set_scales(axes: Axes, chart: Chart) -> None:
    """The scales of both axes; a value that a log axis has not is a gap."""
    unit, _ = x_unit(chart)
    spec = chart.spec
    for name, scale, threshold in (
        ("x", spec.x_scale, chart.x_threshold / unit),
        ("y", spec.y_scale, chart.y_threshold),
    ):
        set_scale = getattr(axes, f"set_{name}scale")
        if scale == "log":
            set_scale("log", nonpositive="mask")
        elif scale == "symlog":
            set_scale("asinh", linear_width=threshold)


def set_ticks(axes: Axes, chart: Chart) -> None:
    """Ranges and labels, once the lines are drawn."""
    unit, _ = x_unit(chart)
    spec = chart.spec
    if spec.x_range is not None:
        axes.set_xlim(spec.x_range[0] / unit, spec.x_range[1] / unit)
    if spec.y_range is not None:
        axes.set_ylim(*spec.y_range)
    if spec.x == "time":
        _dates(axes)
    else:
        _plain(axes.xaxis, spec.x_scale, axes.get_xlim(), 8)
    _plain(axes.yaxis, spec.y_scale, axes.get_ylim(), 7)


def _dates(axes: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def _plain(axis: Any, scale: str, limits: tuple[float, float], most: int) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

    axis.set_minor_formatter(NullFormatter())
    if scale == "log":
        decades = float(np.log10(limits[1] / limits[0]))
        if decades < 1:
            axis.set_major_locator(MaxNLocator(most))
            axis.set_minor_locator(NullLocator())
        else:
            subs = (1.0, 2.0, 5.0) if decades < 3 else (1.0,)
            axis.set_major_locator(LogLocator(subs=subs, numticks=most + 4))
    elif scale == "linear":
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(number))
