"""The error for a query that cannot be read: one sentence, and a note with a caret at the place."""

from __future__ import annotations

from seamount.core.errors import UserError

_CONTEXT = 60


class QueryError(UserError):
    """A filter or pattern is wrong at `position` (characters from 0) of `text`."""

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(f"{message}, at character {position + 1} of the query")
        self.text, self.position = text, position
        self.add_note(pointer(text, position))


def pointer(text: str, position: int) -> str:
    """Two lines: the text around `position`, and a caret below it."""
    start = max(0, position - _CONTEXT)
    shown = "".join(c if c.isprintable() else " " for c in text[start : position + _CONTEXT])
    return f"  {shown}\n  {' ' * (position - start)}^"
