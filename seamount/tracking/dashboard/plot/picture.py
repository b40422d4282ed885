"""A figure as the bytes of a PNG or SVG file, without a browser."""

from __future__ import annotations

import io
import logging
import re
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from seamount.core.errors import UserError
from seamount.tracking.dashboard.charts.chart import Chart
from seamount.tracking.dashboard.plot.figure import DPI, draw, panels_of
from seamount.tracking.dashboard.plot.style import SVG_FONTS, settings_of, theme

MAX_PIXELS = 100_000_000
_MIN_SIDE, _MAX_SIDE = 200, 10_000
_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings are the process's


@dataclass(frozen=True)
class Look:
    """How a picture looks: pixels of one chart, how many of the file's to one of them, dark."""

    size: tuple[int, int] = (900, 500)
    scale: float = 2.0
    dark: bool = False

    def __post_init__(self) -> None:
        if not all(_MIN_SIDE <= side <= _MAX_SIDE for side in self.size):
            raise UserError(
                f"a chart of {self.size[0]}x{self.size[1]} pixels cannot be drawn: "
                f"each side may have {_MIN_SIDE} to {_MAX_SIDE:,}"
            )
        if not 0.5 <= self.scale <= 8:
            raise UserError(f"a picture's scale may be 0.5 to 8, not {self.scale:g}")


def render(charts: Sequence[Chart], kind: str, look: Look, title: str | None = None) -> bytes:
    """The file of `kind` "png" or "svg" (needs the extra `plot`); it says nothing of its origin."""
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.backends.backend_svg import FigureCanvasSVG
    except ImportError as error:
        raise UserError("pictures need matplotlib: run `pip install seamount[plot]`") from error
    colours, content = theme(dark=look.dark), io.BytesIO()
    with _ONE_AT_A_TIME, rc_context(settings_of(colours)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # glyphs that no font has, a chart too small for its words
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        figure = draw(panels_of(charts), look.size, colours, title)
        across, down = (side * DPI * look.scale for side in figure.get_size_inches())
        if kind == "png" and across * down > MAX_PIXELS:
            raise UserError(
                f"a picture of {across:.0f}x{down:.0f} pixels is too large "
                f"(at most {MAX_PIXELS:,}): choose a smaller --size or --scale, or fewer metrics"
            )
        (FigureCanvasAgg if kind == "png" else FigureCanvasSVG)(figure)
        nothing = {"Software": None} if kind == "png" else {"Date": None, "Creator": None}
        dpi = DPI * look.scale if kind == "png" else "figure"
        figure.savefig(content, format=kind, metadata=nothing, dpi=dpi)
    return content.getvalue() if kind == "png" else _for_viewers(content.getvalue())


def _for_viewers(svg: bytes) -> bytes:
    """Any viewer has one of these fonts, and its own for letters that they lack; sizes in pixels
    (of which matplotlib's point, 1/72 inch, has DPI / 72)."""
    text = svg.decode()
    for side in ("width", "height"):
        text = re.sub(rf'(<svg[^>]* {side}=")([\d.]+)pt"', _in_pixels, text, count=1)
    font = r"(font(?:-family)?: (?:[\d.]+px )?)'DejaVu Sans'(?:, '[^']*')*"
    text = re.sub(font, lambda found: found[1] + SVG_FONTS, text)
    return re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL).encode()


def _in_pixels(found: re.Match[str]) -> str:
    return f'{found[1]}{float(found[2]) * DPI / 72:g}"'
