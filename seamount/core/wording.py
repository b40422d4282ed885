"""Text from outside as a part of our own lines: on one line, bounded, and counted in words."""

from __future__ import annotations

NAME_CELLS = 40
_LEAST_CELLS = 22


def one_line(text: object, limit: int | None = None) -> str:
    """`text` with all that is invisible or moves the cursor escaped, and cut at `limit` characters.

    Line ends, control characters and marks of writing direction come out as in a Python string
    (`\\n`, `\\u202e`): a name cannot break a table, or look like another name.
    """
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text)
    )
    return shown if limit is None or len(shown) <= limit else f"{shown[: limit - 1]}…"


def column(names: list[str]) -> list[str]:
    """Each name on one line, cut and padded to the cells of a terminal that all of them share."""
    from rich.cells import cell_len

    shown = [_cut(one_line(name), NAME_CELLS) for name in names]
    width = max([_LEAST_CELLS, *(cell_len(name) for name in shown)])
    return [name + " " * (width - cell_len(name)) for name in shown]


def _cut(text: str, cells: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else f"{set_cell_size(text, cells - 1).rstrip()}…"


def counted(number: int, noun: str) -> str:
    """`1 document`, `2,000 documents`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
