"""`seamount track delete | restore | gc | quota`: what keeps a store small."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.cli.track_find import StoreOption
from seamount.core.errors import UserError
from seamount.core.wording import one_line

_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_MAX_LINES = 20

RunsArgument = Annotated[list[str], typer.Argument(help="Run ids.")]


def delete(runs: RunsArgument, store: StoreOption = None, json_file: JsonOption = None) -> None:
    """Mark runs as deleted: out of every list, kept on disk until `gc`, restorable until then.

    Example: seamount track delete RUN OTHER
    """
    _mark(runs, True, store, json_file)


def restore(runs: RunsArgument, store: StoreOption = None, json_file: JsonOption = None) -> None:
    """Take back the deletion of runs.

    Example: seamount track restore RUN
    """
    _mark(runs, False, store, json_file)


def _mark(runs: list[str], deleted: bool, store: str | None, json_file: str | None) -> None:
    from seamount.tracking.store.folder import open_store
    from seamount.tracking.upkeep.deletion import set_deleted

    opened = open_store(store, create=False)
    unknown = [run_id for run_id in runs if opened.identity(run_id) is None]
    if unknown:
        raise UserError(f"no run {unknown[0]!r} in this store: `seamount track ls` lists them")
    for run_id in runs:
        set_deleted(opened, run_id, deleted)
    if not emit([{"run_id": run_id, "deleted": deleted} for run_id in runs], json_file):
        word = "deleted (`seamount track gc` removes it for good)" if deleted else "restored"
        for run_id in runs:
            typer.echo(f"{run_id}  {word}")


def gc(
    older_than: Annotated[
        str | None, typer.Option(help="Only runs deleted so long ago: 30d, 12h, 90m.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be removed, remove nothing.")
    ] = False,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Remove deleted runs for good: their points, rows, and files that no other run has.

    A run that a process logs, or from which a remaining run was forked, is kept. Repeat it after an
    interruption.

    Example: seamount track gc --older-than 30d --dry-run
    """
    from seamount.tracking.store.folder import open_store
    from seamount.tracking.upkeep.gc import collect
    from seamount.tracking.upkeep.usage import size_text

    older_than_s = 0.0 if older_than is None else parse_duration(older_than)
    result = collect(open_store(store, create=False), older_than_s, dry_run=dry_run)
    if emit(result, json_file):
        return
    for run_id in result["ended"]:
        word = "would be ended" if dry_run else "ended"
        typer.echo(f"{run_id}  a removal that was begun before: {word}")
    for row in result["runs"]:
        size = size_text(row["bytes"])
        typer.echo(f"{row['run_id']}  {row['outcome']}  {size}  {one_line(row['name'])}")
    typer.echo(f"{size_text(result['bytes'])} {'would be ' if dry_run else ''}freed at most")


def quota(
    size: Annotated[
        str | None, typer.Argument(help="New limit, such as 500GB or 1.5TiB; none lifts it.")
    ] = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show what the store takes on disk, by project and run, and its limit; or set the limit.

    Beyond the limit points are still logged, files of runs are refused with a warning.

    Example: seamount track quota 500GB
    """
    from seamount.tracking.store.folder import open_store
    from seamount.tracking.upkeep import usage as uses

    opened = open_store(store, create=False)
    if size is not None:
        uses.set_quota(opened, None if size == "none" else uses.parse_size(size))
    found = uses.usage(opened)
    if emit(found, json_file):
        return
    limit = found["quota_bytes"]
    told = "no limit" if limit is None else f"of {uses.size_text(limit)}"
    over = "  OVER THE LIMIT" if limit is not None and found["bytes"] > limit else ""
    typer.echo(f"{uses.size_text(found['bytes'])} ({told}){over}")
    for project, total in found["projects"].items():
        typer.echo(f"project  {uses.size_text(total):>10}  {one_line(project)}")
    for row in found["runs"][:_MAX_LINES]:
        mark = "  deleted" if row["deleted"] else ""
        typer.echo(
            f"{uses.size_text(row['bytes']):>10}  {row['run_id']}  {one_line(row['name'])}{mark}"
        )
    if len(found["runs"]) > _MAX_LINES:
        typer.echo(f"... and {len(found['runs']) - _MAX_LINES} smaller runs (--json lists all)")


def parse_duration(text: str) -> float:
    """Seconds of a text like 30d, 12h or 1d12h; raises UserError for another."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhdw])", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UserError(f"--older-than {text!r} is no duration: write 30d, 12h, 90m or 1d12h")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)
