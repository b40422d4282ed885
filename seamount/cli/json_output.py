"""`--json FILE` writes a result, `--json` alone prints it: one option for every command.

@app.command(cls=JsonCommand)
def show(json_file: JsonOption = None) -> None:
    emit(result, json_file)
"""

from __future__ import annotations

import json
import math
import os
from itertools import pairwise
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from seamount.core.errors import UserError

_STDOUT = "-"

JsonOption = Annotated[
    str | None,
    typer.Option("--json", metavar="[FILE]", help="Write the result as JSON to FILE, or print it."),
]


class JsonCommand(TyperCommand):
    """A command whose --json may stand without a file (Typer itself has no optional values)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give a bare --json the value that means standard output."""
        args = with_value(args)
        for option, value in pairwise(args):
            if option == "--json" and value != _STDOUT:
                refuse_unwritable(value)
        return super().parse_args(ctx, args)


def refuse_unwritable(json_file: str) -> None:
    """Raise UserError before any work is done where the result could not be written at its end."""
    from seamount.core import storage

    if not storage.is_local(json_file):
        return
    target = storage.local_path(json_file).absolute()
    folder = next(p for p in target.parents if p.exists())
    if target.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"--json {json_file!r} cannot be written: give a file in a folder of yours")


def with_value(args: list[str]) -> list[str]:
    """`args` with "-" after every --json that is last or followed by another option."""
    end = args.index("--") if "--" in args else len(args)
    filled: list[str] = []
    for place, arg in enumerate(args):
        filled.append(arg)
        bare = place + 1 >= end or args[place + 1].startswith("-")
        if arg == "--json" and place < end and bare:
            filled.append(_STDOUT)
    return filled


def emit(value: Any, json_file: str | None) -> bool:
    """Write or print `value` if --json was given; False where it was not."""
    if json_file is None:
        return False
    value = _strict(value)
    if json_file == _STDOUT:
        text = json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
        typer.echo(text.encode("utf-8", "backslashreplace").decode())
    else:
        from seamount.core import storage

        storage.write_json(json_file, value)
    return True


def _strict(value: Any) -> Any:
    """`value` without NaN and infinities, which JSON has not: "NaN", "Infinity", "-Infinity"."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
