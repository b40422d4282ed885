"""What the verbs of `seamount corpus` print alike."""

from __future__ import annotations

from typing import Any

import typer

from seamount.core.wording import column, counted


def amount(part: dict[str, Any]) -> str:
    """`3 documents, 1,204 bytes`."""
    return f"{counted(part['documents'], 'document')}, {counted(part['bytes'], 'byte')}"


def print_components(components: dict[str, Any], total: int) -> None:
    """A line a component: documents, bytes, share of `total` bytes."""
    for name, part in zip(column(list(components)), components.values(), strict=True):
        share = part["bytes"] / max(1, total)
        typer.echo(f"  {name} {part['documents']:>8,} {part['bytes']:>14,} {share:>7.2%}")
