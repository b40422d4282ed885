"""How a document is cut into model inputs so that every token is scored exactly once.

A document's stream is the prefix token and then its n tokens; position i is scored from the
positions before it in the same window. `paper` is the Pile paper's protocol (Gao et al. 2020,
appendix E.2): disjoint windows, each later one beginning with the last token of the one before.
`sliding` keeps earlier tokens as context; with a stride of the whole context it is what
lm-evaluation-harness computes, whose last window alone reaches back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seamount.core.errors import UserError
from seamount.core.registry import unknown

PROTOCOLS = ("paper", "sliding")


@dataclass(frozen=True, slots=True)
class Window:
    """Inputs `stream[start:stop]`, targets one further on, of which those from `first` on count.

    `first` is an index into the window.
    """

    start: int
    stop: int
    first: int

    @property
    def length(self) -> int:
        """Number of input tokens."""
        return self.stop - self.start


def cut(tokens: int, context_length: int, protocol: str, stride: int | None = None) -> list[Window]:
    """The windows of a document of `tokens` tokens; none for an empty document.

    `context_length` counts input tokens, the prefix included. `stride` (for "sliding"; default
    half the context) is how many new tokens each window after the first scores.
    """
    check(context_length, protocol, stride)
    if protocol == "paper":
        starts = range(0, tokens, context_length)
        return [Window(s, min(s + context_length, tokens), 0) for s in starts]
    return list(_sliding(tokens, context_length, stride or max(1, context_length // 2)))


def check(context_length: int, protocol: str, stride: int | None) -> None:
    """Raise UserError for a protocol that does not exist or cannot work."""
    if protocol not in PROTOCOLS:
        raise unknown("protocol", protocol, list(PROTOCOLS))
    if context_length < 1:
        raise UserError(f"a context of {context_length} tokens holds nothing: use at least 1")
    if stride is not None and protocol != "sliding":
        raise UserError(f"--stride {stride} is for --protocol sliding: leave it out or use that")
    if stride is not None and not 1 <= stride <= context_length:
        raise UserError(
            f"stride {stride} is not between 1 and the context {context_length}: choose one that "
            "is, or leave it out for half the context"
        )


def _sliding(tokens: int, context_length: int, step: int) -> Iterator[Window]:
    """Each window reaches back as far as the context allows."""
    scored = 0
    while scored < tokens:
        new = min(context_length if scored == 0 else step, tokens - scored)
        stop = scored + new
        start = max(0, stop - context_length)
        yield Window(start, stop, scored - start)
        scored = stop
