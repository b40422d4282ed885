"""What one station of the road hands to the next."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)  # nobody changes one; `frozen` makes it cost three times as much to create
class Document:
    """One text with its provenance.

    `component` is the set it belongs to (the Pile's `meta.pile_set_name`), `id` is stable across
    runs and machines, `source` names where it came from (URL and record), `meta` carries the rest
    of the source's own metadata.
    """

    text: str
    component: str
    id: str
    source: str
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Quarantined:
    """A damaged record that was set aside: where it is and why it could not be read."""

    source: str
    line: int
    reason: str
    size_bytes: int


@dataclass(slots=True, frozen=True)
class Skipped:
    """A sound record that its reader's own rule passes over (a redirect, a binary file): where it
    is, by which rule, and its bytes. A build counts it as dropped, so that nothing vanishes.
    """

    source: str
    reason: str
    size_bytes: int


@dataclass(slots=True, frozen=True)
class DocumentScore:
    """What a scorer gives for one document.

    `size_bytes` counts the UTF-8 bytes of the source text, `tokens` the scored tokens and `nats`
    the sum of their negative natural-log probabilities.
    """

    id: str
    component: str
    size_bytes: int
    tokens: int
    nats: float
