"""`seamount track ls | query | get | best`: runs found by a filter, and what one of them holds."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import one_line

StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="seamount:///folder (default: SEAMOUNT_TRACKING_URI)."),
]
ProjectOption = Annotated[
    str | None, typer.Option(help="A project's name, or an extended regex (default: all).")
]
WhereOption = Annotated[
    str | None, typer.Option(help='Filter, such as "config.lr < 0.1 and min(loss) < 2".')
]
SearchOption = Annotated[
    str | None, typer.Option(help='Extended regex over all metadata, such as "adam & !?tag:bad".')
]
SortOption = Annotated[
    list[str] | None, typer.Option(help='Attribute, "-" before it for highest first; repeatable.')
]
LimitOption = Annotated[int | None, typer.Option(min=0, help="At most so many runs.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(help="Attributes between commas: config.lr,last(loss),tag.*"),
]


def ls(
    where: WhereOption = None,
    search: SearchOption = None,
    project: ProjectOption = None,
    sort: SortOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """List runs, newest first.

    Example: seamount track ls --where "min(loss) < 2" --columns "config.lr,min(loss)"
    """
    _list(where, search, project, sort, limit, columns, store, json_file)


def query(
    expression: Annotated[str, typer.Argument(help="Filter over any attribute.")],
    project: ProjectOption = None,
    sort: SortOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """List the runs a filter selects: and, or, not over configs, tags, metrics and metadata.

    Example: seamount track query "tag.baseline exists or at(val/loss, 100) < 2"
    """
    _list(expression, None, project, sort, limit, columns, store, json_file)


def get(
    run: Annotated[str, typer.Argument(help="Run id.")],
    metric: Annotated[str | None, typer.Option(help="Print this metric's points instead.")] = None,
    rank: Annotated[int, typer.Option(help="Rank whose strand is meant.")] = 0,
    own: Annotated[
        bool, typer.Option("--own", help="Of a fork its own points only, not its ancestors'.")
    ] = False,
    previews: Annotated[
        bool, typer.Option("--previews", help="Provisional points of the metric too.")
    ] = False,
    lineage: Annotated[
        bool, typer.Option("--lineage", help="Print what it was forked from, and what from it.")
    ] = False,
    config: Annotated[bool, typer.Option("--config", help="Print the configuration.")] = False,
    files: Annotated[bool, typer.Option("--files", help="Print the files.")] = False,
    download: Annotated[
        str | None, typer.Option(help="Copy this file (or folder) of the run to --to.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder that downloads go to.")] = Path(),
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show a run: state, configs, tags, files, last metrics; or one part of it.

    Example: seamount track get RUN --metric loss

    Example: seamount track get RUN --download checkpoints/100 --to out
    """
    from seamount.tracking import query

    chosen = [metric is not None, config, files, lineage, download is not None]
    if sum(chosen) > 1:
        raise UserError("give one of --metric, --config, --files, --lineage and --download")
    if metric is not None:
        points = query.points(store, run, metric, rank, lineage=not own, include_previews=previews)
        return _points(points, json_file)
    if lineage:
        return _lineage(query.lineage(store, run), json_file)
    if download is not None:
        path = query.open_run(run, store).download(download, to)
        if not emit({"path": str(path)}, json_file):
            typer.echo(path)
        return
    found = query.run(store, run)
    if config or files:
        _part(found["config"] if config else found["files"], json_file)
    elif not emit(found, json_file):
        _show(found)


def best(
    metric: Annotated[str, typer.Argument(help="Metric's name.")],
    mode: Annotated[str, typer.Option(help="min or max: which value is the best.")] = "min",
    where: WhereOption = None,
    project: ProjectOption = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show the run with the best value ever of a metric, and its checkpoint of that step.

    Example: seamount track best val/loss --mode min --where "state = 'Completed'"
    """
    from seamount.tracking.query.best_run import best as find

    found = find(metric, mode, where, project=project, store=store)
    if not emit(found.to_dict(), json_file):
        typer.echo(f"{found.run.run_id}  {metric} = {found.value:g} at step {found.step}")
        typer.echo(one_line(f"checkpoint  {found.checkpoint or 'none'}  ({found.reason})"))


def _list(
    where: str | None,
    search: str | None,
    project: str | None,
    sort: list[str] | None,
    limit: int | None,
    columns: str | None,
    store: str | None,
    json_file: str | None,
) -> None:
    from seamount.tracking import query
    from seamount.tracking.query.column_list import split_columns

    extra = split_columns(columns) if columns else []
    table = query.runs(
        where, store=store, project=project, search=search, sort=sort or "-created",
        limit=limit, columns=extra,
    )  # fmt: skip
    if emit([run.to_dict() | _plain(run.known) for run in table], json_file):
        return
    for run in table:
        shown = (f"{name}={value}" for name, value in _plain(run.known).items())
        typer.echo(one_line("  ".join([_line(run.row), *shown])))
    if not len(table):
        typer.echo("no runs" + (f" in project {project!r}" if project else ""), err=True)
    elif len(table) < table.total:
        typer.echo(f"{len(table)} of {table.total} runs", err=True)


def _line(row: dict[str, Any]) -> str:
    started = clock(row["created_us"])
    fork = f"  (fork of {row['fork_run_id']} at {row['fork_step']})" if row["fork_run_id"] else ""
    return f"{row['run_id']}  {row['state']:<11}  {started}  {row['project']}  {row['name']}{fork}"


def _points(points: list[dict[str, Any]], json_file: str | None) -> None:
    if emit(points, json_file):
        return
    for point in points:
        share = point.get("preview_completion")
        word = (
            "\tpreview" + ("" if share is None else f" {share:g}") if point.get("preview") else ""
        )
        typer.echo(f"{point['step']}\t{point['value']}{word}")


def _lineage(found: dict[str, Any], json_file: str | None) -> None:
    """The root first, the run itself marked, then what was forked from it."""
    if emit(found, json_file):
        return
    if found["problem"]:
        typer.echo(found["problem"], err=True)
    for row in reversed(found["ancestors"]):
        gone = "  (deleted)" if row["deleted"] else ""
        typer.echo(f"{row['run_id']}  up to step {row['up_to']}{gone}")
    typer.echo(f"{found['run_id']}  <- this run")
    for row in found["descendants"]:
        gone = "  (deleted)" if row["deleted"] else ""
        origin = f"fork of {row['fork_run_id']} at step {row['fork_step']}{gone}"
        typer.echo(f"{'  ' * row['generation']}{row['run_id']}  {origin}")


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value.isoformat() if isinstance(value, datetime.datetime) else value
        for name, value in values.items()
    }


def _part(values: dict[str, Any], json_file: str | None) -> None:
    if not emit(values, json_file):
        for name, value in values.items():
            size = f"{value['size_bytes']} bytes" if isinstance(value, dict) else value
            typer.echo(f"{one_line(name)}\t{one_line(size)}")


def clock(time_us: int) -> str:
    """Microseconds since 1970 UTC as a person reads them."""
    from seamount.tracking.query.frames import moment

    return f"{moment(time_us):%Y-%m-%d %H:%M:%S}Z"


def _show(run: dict[str, Any]) -> None:
    for line in _lines(run):
        typer.echo(one_line(line))


def _lines(run: dict[str, Any]) -> Iterator[str]:
    yield f"{run['run_id']}  {run['name']}  (project {run['project']})"
    yield f"state    {run['state']}  started {clock(run['created_us'])}"
    if run["ended_us"]:
        yield f"ended    {clock(run['ended_us'])}"
    if run["fork_run_id"]:
        yield f"fork     of {run['fork_run_id']} at step {run['fork_step']}"
    if run["lineage"]["problem"]:
        yield f"warning  {run['lineage']['problem']}"
    if run["error"]:
        yield f"error    {run['error']['type']}: {run['error']['message']}"
        yield from (f"         | {line}" for line in run["error"].get("last_words", ()))
    for title in ("config", "tags"):
        yield from (f"{title:<8} {key} = {value}" for key, value in run[title].items())
    for name, entry in run["files"].items():
        yield f"file     {name}  {entry['size_bytes']} bytes  sha256 {entry['digest'][:12]}"
    for metric in run["metrics"]:
        where = f" (rank {metric['rank']})" if metric["rank"] else ""
        yield (
            f"metric   {metric['name']}{where} = {metric['last_value']:g} "
            f"at step {metric['last_step']}  ({metric['points']} points)"
        )
