"""Colours, dashes, fonts and numbers of a picture."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

# Of these the ones that are installed are used, glyph by glyph in this order.
_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic",
    "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "Noto Sans Symbols2",
    "WenQuanYi Zen Hei", "Microsoft YaHei", "Hiragino Sans", "Arial Unicode MS",
)  # fmt: skip
SVG_FONTS = "'DejaVu Sans', system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
FONT_SIZE = 10.0


@dataclass(frozen=True)
class Theme:
    """Colours as `#rrggbb`; `dashes` are pixels drawn and not drawn in turn."""

    paper: str
    ink: str
    muted: str
    grid: str
    bad: str
    baseline: str
    series: tuple[str, ...]
    dashes: tuple[tuple[float, ...], ...]

    def line(self, number: int) -> dict[str, Any]:
        """How matplotlib draws line `number`: colours first, then the next dash."""
        dash = self.dashes[number // len(self.series) % len(self.dashes)]
        return {
            "color": self.series[number % len(self.series)],
            "linestyle": (0, dash) if dash else "-",
        }


@functools.cache
def theme(*, dark: bool = False) -> Theme:
    """The theme of palette.json."""
    text = resources.files(__package__).joinpath("palette.json").read_text(encoding="utf-8")
    palette = json.loads(text)
    found = palette["dark" if dark else "light"]
    series, dashes = tuple(found.pop("series")), tuple(map(tuple, palette["dashes"]))
    return Theme(series=series, dashes=dashes, **found)


@functools.cache
def _fonts() -> list[str]:
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return [name for name in _FONTS if name in there] or ["sans-serif"]


def settings_of(colours: Theme) -> dict[Any, Any]:
    """matplotlib's settings; no `$` in a name means anything."""
    return {
        "text.parse_math": False, "axes.formatter.use_mathtext": False,
        "svg.fonttype": "none", "svg.hashsalt": "seamount",
        "font.family": _fonts(), "font.size": FONT_SIZE, "lines.scale_dashes": False,
        "figure.facecolor": colours.paper, "axes.facecolor": colours.paper,
        "savefig.facecolor": colours.paper, "text.color": colours.ink,
        "axes.labelcolor": colours.muted, "axes.edgecolor": colours.grid,
        "axes.titlesize": FONT_SIZE + 1, "axes.titlelocation": "left",
        "axes.titlecolor": colours.ink, "axes.titlepad": 8,
        "xtick.color": colours.muted, "ytick.color": colours.muted,
        "axes.spines.top": False, "axes.spines.right": False,
        "legend.frameon": False, "legend.labelcolor": colours.ink,
        "path.simplify": True, "agg.path.chunksize": 10_000,
    }  # fmt: skip


def number(value: float, _: object = None) -> str:
    """A tick's label: 0.001, 25k, 1.5M, 1e-07."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-4:
        return f"{value:g}"
    for unit, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            scaled = value / (1e3 if letter == "k" else unit)
            return f"{scaled:.10g}{letter}"
    return f"{value:.10g}"
