"""A list of attributes as one text, for the command line: `config.lr,last(loss),at(loss, 10)`."""

from __future__ import annotations

from seamount.tracking.query.filter_tokens import tokens


def split_columns(text: str) -> list[str]:
    """Cut at the commas that stand in no parentheses and no quotes."""
    pieces, start, depth = [], 0, 0
    for token in tokens(text):
        if token.kind == "end" or (token.kind == "sign" and token.value == "," and depth == 0):
            pieces.append(text[start : token.start].strip())
            start = token.start + 1
        elif token.kind == "sign" and token.value in "()":
            depth += 1 if token.value == "(" else -1
    return [piece for piece in pieces if piece]
