"""An audit as a picture: one SVG file, or one page, that needs nothing else."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from seamount.core import charts, storage
from seamount.core.errors import UserError
from seamount.core.wording import one_line

SUFFIXES = (".svg", ".html")
_MOST_ROWS = 40
_WIDTH, _GAP = 700.0, 24.0


def check_name(path: str) -> None:
    """Raise UserError where `path` has no suffix that can be drawn."""
    if not path.endswith(SUFFIXES):
        raise UserError(f"--plot {path!r}: give a file that ends in {' or '.join(SUFFIXES)}")


def write(result: dict[str, Any], path: str) -> None:
    """Draw the result of `composition.audit` into the file `path` (.svg or .html), atomically."""
    check_name(path)
    drawn = draw(result)
    content = _page(drawn) if path.endswith(".html") else stacked(drawn)
    storage.write_bytes(path, content.encode())


def draw(result: dict[str, Any]) -> dict[str, str]:
    """One chart a title: shares of components and kinds, decades, effective numbers."""
    drawn = {}
    for title, parts in (
        ("Bytes by component, percent", result["components"]),
        ("Bytes by kind, percent", result["kinds"]),
        ("Bytes by decade, percent", result["decades"] or {}),
    ):
        if parts:
            drawn[title] = charts.bars(_shares(parts), "% of bytes", title)
    after = {name: part["after"] for name, part in result["effective"].items()}
    before = {name: part["before"] for name, part in result["effective"].items()}
    title = "Effective numbers"
    if None in before.values():
        drawn[title] = charts.bars(after, "effective number", title)
    else:
        series = {"after mixing": list(after.values()), "before": list(before.values())}
        drawn[title] = charts.pairs(list(after), series, "effective number", title)
    return drawn


def _shares(parts: dict[str, Any]) -> dict[str, float]:
    """Percent of bytes; beyond the largest forty the rest is one row."""
    total = max(1, sum(part["bytes"] for part in parts.values()))
    shares = {one_line(name): 100 * part["bytes"] / total for name, part in parts.items()}
    if len(shares) <= _MOST_ROWS:
        return shares
    largest = sorted(shares, key=lambda name: -shares[name])[: _MOST_ROWS - 1]
    rest = sum(share for name, share in shares.items() if name not in largest)
    return {name: shares[name] for name in largest} | {f"{len(shares) - 39} others": rest}


def stacked(drawn: dict[str, str]) -> str:
    """Charts one under another in one SVG, each below its title."""
    top, placed = _GAP, []
    for title, svg in drawn.items():
        placed.append(
            f'<text x="8" y="{top:.1f}" font-family="system-ui, sans-serif" font-size="15" '
            f'fill="var(--ink, #1b2a33)">{escape(title)}</text>'
        )
        top += _GAP / 3
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
        assert box is not None  # charts writes it
        height = _WIDTH * float(box[2]) / float(box[1])
        where = f'<svg x="0" y="{top:.1f}" width="{_WIDTH:.0f}" height="{height:.1f}"'
        placed.append(svg.replace("<svg", where, 1))
        top += height + 2 * _GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {top:.0f}" '
        f'width="{_WIDTH:.0f}" height="{top:.0f}">'
        '<rect width="100%" height="100%" fill="var(--paper, #ffffff)"/>'
    )
    return f"{head}{''.join(placed)}</svg>\n"


def _page(drawn: dict[str, str]) -> str:
    figures = "".join(
        f"<figure><figcaption>{escape(title)}</figcaption>{svg}</figure>"
        for title, svg in drawn.items()
    )
    style = "body{font-family:system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Corpus audit</title>'
        f"<style>{style}</style><h1>Corpus audit</h1>{figures}</html>\n"
    )
