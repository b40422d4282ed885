"""Plots as SVG text for pages: the same bytes for the same data, readable in light and dark.

Colours are CSS variables with a fallback (`var(--ink, #1b2a33)`), so that the page around decides;
series differ by shape as well as by colour (Okabe and Ito's colour-blind-safe set). Names are
drawn as they are: no markup in them means anything.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Drawn in these colours, which no chart uses otherwise, then replaced by the variables.
VARIABLES = {
    "#010101": "var(--ink, #1b2a33)",
    "#020202": "var(--muted, #5d6d77)",
    "#030303": "var(--grid, #d9dfe3)",
    "#060606": "var(--quiet, #9fb0b9)",
    "#040404": "var(--paper, #ffffff)",
    "#050501": "var(--series-1, #0072b2)",
    "#050502": "var(--series-2, #d55e00)",
    "#050503": "var(--series-3, #009e73)",
    "#050504": "var(--series-4, #cc79a7)",
    "#050505": "var(--series-5, #b58900)",
    "#050506": "var(--series-6, #56b4e9)",
}
_INK, _MUTED, _GRID, _QUIET, _PAPER, *_SERIES = VARIABLES
_MARKERS = ("o", "s", "D", "^", "v", "P")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))
WIDTH_IN = 9.6
_ROW_IN = 0.34
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "seamount",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 10.5,
    "text.color": _INK,
    "axes.labelcolor": _MUTED,
    "axes.edgecolor": _GRID,
    "xtick.color": _MUTED,
    "ytick.color": _INK,
    "xtick.labelcolor": _MUTED,
    "ytick.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "legend.frameon": False,
    "legend.labelcolor": _INK,
}


@dataclass(frozen=True)
class Point:
    """A value and, where known, the ends of its interval."""

    value: float
    low: float | None = None
    high: float | None = None


def dots(
    rows: Sequence[str], series: Mapping[str, Mapping[str, Point]], unit: str, title: str
) -> str:
    """One line a row, one mark a series on it, whiskers where there is an interval.

    `series` maps a series to its point in each row; the first one stands out.
    """

    def draw(axes: Axes) -> None:
        for number, (name, points) in enumerate(series.items()):
            _draw_dots(axes, rows, name, points, number)
        _rows(axes, rows)
        axes.set_xlabel(unit)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6, handletextpad=0.3)

    return as_svg(draw, len(rows) * _ROW_IN + 1.2, title)


def bars(values: Mapping[str, float], unit: str, title: str, strong: str | None = None) -> str:
    """One horizontal bar a name with its value at the end; `strong` stands out."""

    def draw(axes: Axes) -> None:
        names = list(values)
        colours = [_SERIES[0] if name == strong else _QUIET for name in names]
        axes.barh(range(len(names)), list(values.values()), height=0.62, color=colours)
        for place, (name, value) in enumerate(values.items()):
            weight = "bold" if name == strong else "normal"
            axes.annotate(
                f"{value:.2f}",
                (value, place),
                (5, 0),
                textcoords="offset points",
                va="center",
                weight=weight,
            )
        _rows(axes, names)
        axes.set_xlim(0, max([*values.values(), 1e-9]) * 1.1)
        axes.set_xlabel(unit)

    return as_svg(draw, len(values) * _ROW_IN + 0.8, title)


def pairs(rows: Sequence[str], series: Mapping[str, Sequence[float]], unit: str, title: str) -> str:
    """Grouped horizontal bars: one group a row, one bar a series."""

    def draw(axes: Axes) -> None:
        height = 0.76 / len(series)
        for number, (name, values) in enumerate(series.items()):
            offset = (number - (len(series) - 1) / 2) * height
            places = [place + offset for place in range(len(rows))]
            hatch = None if number == 0 else "////"
            face = _SERIES[0] if number == 0 else "none"
            axes.barh(
                places,
                values,
                height=height * 0.9,
                label=name,
                color=face,
                hatch=hatch,
                edgecolor=_SERIES[0] if number == 0 else _MUTED,
                linewidth=0.8,
            )
        _rows(axes, rows)
        axes.set_xlabel(unit)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6)

    return as_svg(draw, len(rows) * 0.44 + 1.2, title)


def changes(values: Mapping[str, float], unit: str, title: str, bound: float | None = None) -> str:
    """Signed bars around zero, worse to the right; `bound` is drawn as a dashed line."""

    def draw(axes: Axes) -> None:
        names = list(values)
        colours = [_SERIES[1] if v > 0 else _SERIES[0] for v in values.values()]
        axes.barh(range(len(names)), list(values.values()), height=0.56, color=colours)
        _rows(axes, names)
        axes.axvline(0, color=_INK, linewidth=0.8)
        reach = max([abs(v) for v in values.values()] or [0.0]) * 1.15 or 1e-4
        if bound is not None and bound <= 4 * reach:
            reach = max(reach, bound * 1.1)
            axes.axvline(bound, color=_SERIES[1], linewidth=1.2, linestyle="--")
            axes.annotate(
                "gate", (bound, -0.6), (4, 0), textcoords="offset points", color=_SERIES[1]
            )
        axes.set_xlim(-reach, reach)
        axes.set_xlabel(unit)

    return as_svg(draw, len(values) * _ROW_IN + 0.9, title)


def lines(
    series: Mapping[str, Sequence[tuple[float, float]]], x_unit: str, y_unit: str, title: str
) -> str:
    """Curves through (x, y) points; series differ by dash as well as by colour."""

    def draw(axes: Axes) -> None:
        for number, (name, points) in enumerate(series.items()):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                label=name,
                color=_SERIES[number % len(_SERIES)],
                linestyle=_DASHES[number % len(_DASHES)],
                linewidth=1.8,
            )
        axes.grid(axis="both", color=_GRID, linewidth=0.7)
        axes.tick_params(length=0, labelcolor=_MUTED)
        axes.set_xlabel(x_unit)
        axes.set_ylabel(y_unit)
        if len(series) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6)

    return as_svg(draw, 3.6, title)


def _draw_dots(
    axes: Axes, rows: Sequence[str], name: str, points: Mapping[str, Point], number: int
) -> None:
    places = [place for place, row in enumerate(rows) if row in points]
    found = [points[rows[place]] for place in places]
    colour = _SERIES[number % len(_SERIES)]
    for place, point in zip(places, found, strict=True):
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [place, place], color=colour, linewidth=2.2)
    axes.plot(
        [p.value for p in found],
        places,
        linestyle="none",
        marker=_MARKERS[number % len(_MARKERS)],
        markersize=8 if number == 0 else 5.5,
        color=colour,
        markerfacecolor=colour if number == 0 else _PAPER,
        markeredgecolor=_PAPER if number == 0 else colour,
        label=name,
        zorder=3 if number == 0 else 2,
    )


def _rows(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=_GRID, linewidth=0.7)
    axes.set_axisbelow(True)


def _short(name: str, longest: int = 28) -> str:
    flat = " ".join(name.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1]}…"


def as_svg(draw: Callable[[Axes], None], height_in: float, title: str) -> str:
    """What `draw` puts on axes of this height, as SVG for a page."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    content = io.StringIO()
    style: dict[Any, Any] = dict(STYLE)
    with rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has more letters
        figure = Figure(figsize=(WIDTH_IN, height_in), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_alpha(0)
        axes = figure.add_subplot()
        axes.patch.set_alpha(0)
        draw(axes)
        figure.savefig(content, format="svg", metadata={"Date": None, "Creator": None})
    return _for_page(content.getvalue(), title)


def _for_page(svg: str, title: str) -> str:
    """Without the file header and fixed size, with the page's colours and fonts and a label."""
    from xml.sax.saxutils import escape, quoteattr

    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    opening = re.match(r"<svg[^>]*>", svg)
    assert opening is not None  # matplotlib's own output
    box = re.search(r'viewBox="([^"]*)"', opening[0])
    assert box is not None
    head = (
        f'<svg class="chart" role="img" aria-label={quoteattr(title)} viewBox="{box[1]}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<title>{escape(title)}</title>"
    )
    body = svg[opening.end() :]
    body = body.replace("'DejaVu Sans'", _FONT)
    for colour, variable in VARIABLES.items():
        body = body.replace(colour, variable)
    return head + body
