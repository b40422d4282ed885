"""What the verbs of `seamount corpus` print alike."""

from __future__ import annotations

from typing import Any

import typer

from seamount.core.wording import column, counted, one_line


def amount(part: dict[str, Any]) -> str:
    """`3 documents, 1,204 bytes`."""
    return f"{counted(part['documents'], 'document')}, {counted(part['bytes'], 'byte')}"


def print_components(components: dict[str, Any], total: int) -> None:
    """A line a component: documents, bytes, share of `total` bytes."""
    for name, part in zip(column(list(components)), components.values(), strict=True):
        share = part["bytes"] / max(1, total)
        typer.echo(f"  {name} {part['documents']:>8,} {part['bytes']:>14,} {share:>7.2%}")


def print_removed(row: dict[str, Any]) -> None:
    """Of a document that was removed as a copy: which one stands for it, and its source."""
    alike = f" ({row['similarity']:.2f})" if row["kind"] == "near" else ""
    copy = f"removed by the build as {row['kind']} copy{alike} of {one_line(row['kept_id'])}"
    typer.echo(f"{one_line(row['id'])}  ({one_line(row['component'])}): {copy}")
    typer.echo(f"  source   {one_line(row['source'])}")
