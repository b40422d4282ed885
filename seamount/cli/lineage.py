"""`seamount lineage`: the tree of what an artefact was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit

if TYPE_CHECKING:
    from rich.tree import Tree

app = typer.Typer(add_completion=False, help="What an artefact was made from.")

_WIDTH = 400  # long paths stay whole; a narrow terminal wraps them itself
_STYLES = {"ok": "green", "changed": "yellow", "missing": "red"}


@app.command(cls=JsonCommand)
def lineage(
    path: Annotated[str, typer.Argument(help="Artefact folder, or a file in one.")],
    json_file: JsonOption = None,
) -> None:
    """Show the artefact at PATH and, below it, everything it was made from.

    Example: seamount lineage runs/first/export/model.onnx
    """
    from seamount.core.lineage import tree

    found = tree(path)
    if emit(found, json_file):
        return
    from rich.console import Console

    Console(highlight=False, width=_WIDTH).print(_drawn(found))


def _drawn(node: dict[str, Any], role: str = "") -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    label = Text.assemble(
        (f"{role}: " if role else "", "dim"),
        (node["kind"], "bold"),
        f"  {node['digest'][:12]}  ",
        (node["state"], _STYLES.get(node["state"], "")),
        (f"  {node['path']}", "dim"),
    )
    drawn = Tree(label, guide_style="dim")
    for name, below in node["inputs"].items():
        drawn.add(_drawn(below, name))
    return drawn
