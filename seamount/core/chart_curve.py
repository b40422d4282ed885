"""Measured points with their intervals beside the curve of a theory, as SVG or PNG."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from seamount.core import charts, storage
from seamount.core.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_COLOURS = tuple(charts.VARIABLES)
_MUTED, _GRID, _FIRST, _SECOND = (_COLOURS[n] for n in (1, 2, 5, 6))
_HEIGHT_IN, _DOTS_PER_IN = 4.2, 150
_FALLBACK = re.compile(r"var\(--[\w-]+, (#[0-9a-f]{6})\)")

Points = Sequence[tuple[float, charts.Point]]


def check_name(path: str) -> None:
    """Raise UserError where `path` has no suffix that can be drawn."""
    if not path.endswith(SUFFIXES):
        raise UserError(f"--plot {path!r}: give a file that ends in {' or '.join(SUFFIXES)}")


def write(
    path: str,
    curve: tuple[str, Sequence[tuple[float, float]]],
    points: Mapping[str, Points],
    units: tuple[str, str],
    title: str,
) -> None:
    """Draw `curve` (name, points) and the measured `points` (by name) into a .png or .svg file."""
    check_name(path)

    def draw(axes: Axes) -> None:
        name, line = curve
        axes.plot([x for x, _ in line], [y for _, y in line], "--", color=_MUTED, label=name)
        for mark, colour, (name, measured) in zip(
            "os", (_FIRST, _SECOND), points.items(), strict=False
        ):
            _measured(axes, name, measured, mark, colour)
        axes.grid(axis="both", color=_GRID, linewidth=0.7)
        axes.tick_params(length=0, labelcolor=_MUTED)
        axes.set_xlabel(units[0])
        axes.set_ylabel(units[1])
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=6)

    if path.endswith(".svg"):
        storage.write_bytes(path, charts.as_svg(draw, _HEIGHT_IN, title).encode())
    else:
        storage.write_bytes(path, _png(draw))


def _measured(axes: Axes, name: str, points: Points, mark: str, colour: str) -> None:
    for x, point in points:
        if point.low is not None and point.high is not None:
            axes.plot([x, x], [point.low, point.high], color=colour, linewidth=1.6)
    axes.plot(
        [x for x, _ in points],
        [point.value for _, point in points],
        mark,
        markersize=6,
        color=colour,
        label=name,
    )


def _png(draw: Any) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    content = io.BytesIO()
    style: dict[Any, Any] = {**charts.STYLE, "axes.edgecolor": "#d9dfe3"}
    with rc_context(style):
        figure = Figure((charts.WIDTH_IN, _HEIGHT_IN), _DOTS_PER_IN, layout="constrained")
        FigureCanvasAgg(figure)
        draw(figure.add_subplot())
        _recolour(figure)
        figure.savefig(content, format="png", metadata={"Software": None})
    return content.getvalue()


def _recolour(figure: Any) -> None:
    """Put the colours of a light page where SVG would have variables."""
    from matplotlib.colors import to_hex

    for artist in figure.findobj():
        if hasattr(artist, "get_color") and hasattr(artist, "set_color"):
            colour = artist.get_color()
            found = _FALLBACK.match(charts.VARIABLES.get(to_hex(colour), ""))
            if found:
                artist.set_color(found[1])
