"""Lines and paragraphs of a text: the units that are compared where a component dedupes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

KINDS = ("line", "paragraph")


class Unit(NamedTuple):
    """Bytes [start, stop) of a text in UTF-8 that go where the unit does, and what is compared."""

    start: int
    stop: int
    data: bytes


def units(text: str, kind: str) -> Iterator[Unit]:
    """The units of `text` in their order, disjoint; none for white space alone.

    A line is compared without its line feed and goes with it. A paragraph is a run of lines that
    are not blank, compared without the last line feed; it goes with the blank lines behind it.
    """
    return _lines(text) if kind == "line" else _paragraphs(text)


def _lines(text: str) -> Iterator[Unit]:
    return (unit for unit, blank in _all_lines(text) if not blank)


def _all_lines(text: str) -> Iterator[tuple[Unit, bool]]:
    """Every line, and whether it is blank; the last one has no line feed."""
    start = 0
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        data = line.encode()
        stop = start + len(data) + (number < len(lines))
        yield Unit(start, stop, data), not line.strip()
        start = stop


def _paragraphs(text: str) -> Iterator[Unit]:
    start = stop = 0
    lines: list[bytes] = []
    ended = False
    for line, blank in _all_lines(text):
        stop = line.stop
        if blank:
            ended = True
            continue
        if ended and lines:
            yield Unit(start, line.start, b"\n".join(lines))
            lines = []
        if not lines:
            start = line.start
        lines.append(line.data)
        ended = False
    if lines:
        yield Unit(start, stop, b"\n".join(lines))
