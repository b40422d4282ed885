"""`seamount track import`: runs of another tracker into a store."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.cli.track_find import StoreOption
from seamount.core.errors import SeamountError
from seamount.core.wording import one_line

_OUTCOMES = ("imported", "updated", "already there", "would be imported", "would be updated")
_MAX_LINES = 30


def import_runs(
    source: Annotated[str, typer.Argument(help="Folder, file or MLflow tracking URI.")],
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="neptune_export, mlflow_store, tensorboard or wandb (default: as it looks).",
        ),
    ] = None,
    project: Annotated[
        str | None, typer.Option(help="Put the runs into this project, not the source's own.")
    ] = None,
    files: Annotated[
        list[str] | None,
        typer.Option(help="Folder or URL beside the source whose files may be taken (repeatable)."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read everything, say what would come, write nothing.")
    ] = False,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Import runs from Neptune exports, MLflow, TensorBoard or W&B, each whole and once.

    Repeat the command after an interruption, or when the source has grown: only what is new is
    added. Exit 1 where a run failed.

    Example: seamount track import exports/data --files exports/files

    Example: seamount track import mlruns --dry-run

    Example: seamount track import http://127.0.0.1:5000 --project old

    Example: seamount track import lightning_logs --from tensorboard --project speech
    """
    from seamount.core.progress import bar
    from seamount.tracking.importing.load import load

    with bar("importing runs") as progress:
        result = load(
            source,
            store,
            kind=kind,
            project=project,
            files=tuple(files or ()),
            dry_run=dry_run,
            told=lambda row: progress.advance(1, one_line(f"{row['outcome']}: {row['name']}", 60)),
        )
    if not emit(result, json_file):
        _show(result)
    failed = [row for row in result["runs"] if row["outcome"] == "failed"]
    if failed:
        raise SeamountError(
            f"{len(failed)} of {len(result['runs'])} runs failed; the first: {failed[0]['error']}"
        )


def _show(result: dict[str, Any]) -> None:
    runs = result["runs"]
    for row in runs[:_MAX_LINES]:
        counts = ", ".join(f"{n} {what}" for what, n in row["counts"].items() if what != "states")
        what = one_line(row.get("error") or counts)
        typer.echo(f"{one_line(row['run_id'] or row['source_id'])}  {row['outcome']:<14}  {what}")
    if len(runs) > _MAX_LINES:
        typer.echo(f"... and {len(runs) - _MAX_LINES} more (--json lists all)")
    sums = {o: sum(row["outcome"] == o for row in runs) for o in (*_OUTCOMES, "failed")}
    told = ", ".join(f"{n} {outcome}" for outcome, n in sums.items() if n) or "no runs"
    typer.echo(f"{result['kind']}: {told}; in {result['store']}")
    _show_problems(result)


def _show_problems(result: dict[str, Any]) -> None:
    """What could not be taken as it was, over all runs."""
    found: dict[str, list[Any]] = {}
    for problem in [*result["problems"], *(p for row in result["runs"] for p in row["problems"])]:
        entry = found.setdefault(problem["reason"], [0, problem["example"]])
        entry[0] += problem["count"]
    if found:
        typer.echo("not taken over as it was:")
    for reason, (count, example) in sorted(found.items(), key=lambda item: -item[1][0]):
        typer.echo(one_line(f"  {count:>8}  {reason}" + (f"  e.g. {example}" if example else "")))
