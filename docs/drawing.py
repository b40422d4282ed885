"""Rows of boxes and bands as SVG, for docs/pictures.py.

A picture is rows from top to bottom. All text stands inside filled boxes, so that it is readable
on white and on dark pages; a text too wide for its box is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, GAP, PAD = 1110, 18, 10
TITLE, LINE, NOTE = 13, 10.5, 13  # font sizes in pixels
LETTER, BOLD = 0.56, 0.61  # mean width of a letter, as a share of the font size
STYLE = (
    "<style>.b{fill:#0b5c7d;stroke:#5fb3d4}.s{fill:#e9b44c;stroke:#8a6414}"
    f".t{{fill:#fff;font-size:{TITLE}px;font-weight:600;text-anchor:middle}}"
    f".f{{fill:#d7eef8;font-size:{LINE}px;text-anchor:middle}}"
    f".l{{fill:#4b2e05;font-size:{NOTE}px;text-anchor:middle}}"
    ".a{stroke:#2f8fb8;stroke-width:2.5;fill:none}</style>"
)


@dataclass(frozen=True)
class Box:
    """A station: its name and the lines below it."""

    name: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chain:
    """Boxes side by side; `arrow` is "right", "down" (to the row below) or "" for none."""

    boxes: tuple[Box, ...]
    arrow: str = "right"

    @property
    def height(self) -> float:
        """Pixels, by the box with most lines."""
        return 36 + 15 * max(len(box.lines) for box in self.boxes)

    def draw(self, top: float) -> list[str]:
        """The elements of this row, `top` pixels down."""
        count = len(self.boxes)
        wide = (WIDTH - GAP * (count + 1)) / count
        parts = []
        for number, box in enumerate(self.boxes):
            x = GAP + number * (wide + GAP)
            parts += _box(box, x, top, wide, self.height)
            if self.arrow == "right" and number:
                y = top + self.height / 2
                parts.append(
                    f'<path class="a" d="M{x - GAP + 2:g} {y:g}h{GAP - 6}m-5 -5l5 5l-5 5"/>'
                )
            if self.arrow == "down":
                x, y = x + wide / 2, top + self.height + 1
                parts.append(f'<path class="a" d="M{x:g} {y:g}v{GAP - 5}m-5 -5l5 5l5 -5"/>')
        return parts


@dataclass(frozen=True)
class Band:
    """What holds for the whole row beside it."""

    lines: tuple[str, ...]

    @property
    def height(self) -> float:
        """Pixels."""
        return 14 + 17 * len(self.lines)

    def draw(self, top: float) -> list[str]:
        """The elements of this row, `top` pixels down."""
        wide = WIDTH - 2 * GAP
        shape = f'x="{GAP}" y="{top:g}" width="{wide}" height="{self.height:g}" rx="8"'
        texts = [
            _text("l", WIDTH / 2, top + 20 + 17 * number, line, NOTE, wide)
            for number, line in enumerate(self.lines)
        ]
        return [f'<rect class="s" {shape}/>', *texts]


def _box(box: Box, x: float, top: float, wide: float, high: float) -> list[str]:
    middle = x + wide / 2
    shape = f'x="{x:g}" y="{top:g}" width="{wide:g}" height="{high:g}" rx="10"'
    lines = [
        _text("f", middle, top + 43 + 15 * number, line, LINE, wide)
        for number, line in enumerate(box.lines)
    ]
    name = _text("t", middle, top + 24, box.name, TITLE, wide)
    return [f'<rect class="b" {shape}/>', name, *lines]


def _text(kind: str, x: float, y: float, text: str, size: float, wide: float) -> str:
    letter = BOLD if kind == "t" else LETTER
    if len(text) * size * letter > wide - PAD:
        raise ValueError(f"{text!r} is too wide for a box of {wide:.0f} pixels: shorten it")
    return f'<text class="{kind}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def picture(label: str, *rows: Chain | Band) -> str:
    """The SVG of `rows`; `label` is what a reader without the picture is told."""
    parts, top = [STYLE], float(PAD)
    for row in rows:
        parts += row.draw(top)
        top += row.height + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top - GAP + PAD:g}" '
        f'font-family="system-ui, sans-serif" role="img" aria-label="{escape(label)}">'
    )
    return "\n".join([head, *parts, "</svg>\n"])
