"""`seamount track`: list, read, verify and import tracked runs, and open MLflow's UI on them."""

from __future__ import annotations

import datetime
import os
import sys
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.cli.track_import import import_runs
from seamount.core import settings
from seamount.core.errors import SeamountError, UserError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="List, read and verify tracked runs.\n\nExample: seamount track ls --project demo",
)

app.command("import", cls=JsonCommand)(import_runs)

StoreOption = Annotated[
    str | None,
    typer.Option("--store", help="seamount:///folder (default: SEAMOUNT_TRACKING_URI)."),
]


@app.command(cls=JsonCommand)
def ls(
    project: Annotated[str | None, typer.Option(help="Only runs of this project.")] = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """List runs, newest first.

    Example: seamount track ls --project demo
    """
    from seamount.tracking import query

    rows = query.runs(store, project)
    if emit(rows, json_file):
        return
    for row in rows:
        started = _clock(row["created_us"])
        typer.echo(
            f"{row['run_id']}  {row['state']:<11}  {started}  {row['project']}  {row['name']}"
        )
    if not rows:
        typer.echo("no runs" + (f" in project {project!r}" if project else ""), err=True)


@app.command(cls=JsonCommand)
def get(
    run: Annotated[str, typer.Argument(help="Run id.")],
    metric: Annotated[str | None, typer.Option(help="Print this metric's points instead.")] = None,
    rank: Annotated[int, typer.Option(help="Rank whose strand is meant.")] = 0,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Show a run: state, configs, tags, files, last metrics; or one metric's points.

    Example: seamount track get RUN --metric loss
    """
    from seamount.tracking import query

    if metric is not None:
        points = query.points(store, run, metric, rank)
        if not emit(points, json_file):
            for point in points:
                typer.echo(f"{point['step']}\t{point['value']}")
        return
    found = query.run(store, run)
    if not emit(found, json_file):
        _show(found)


@app.command(cls=JsonCommand)
def verify(
    run: Annotated[str, typer.Argument(help="Run id.")],
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Prove that no record of a run is missing, or name what is; exit 1 if something is.

    Example: seamount track verify RUN --json
    """
    from seamount.tracking.store import open_store
    from seamount.tracking.verify import verify as check

    result = check(open_store(store, create=False), run)
    if not emit(result, json_file):
        verdict = "whole" if result["ok"] else "NOT whole"
        typer.echo(
            f"run {run} ({result['state']}) is {verdict}: {result['points']} points in "
            f"{len(result['strands'])} strands, {result['files']} files"
        )
    if not result["ok"]:
        raise SeamountError(f"run {run}: {'; '.join(result['problems'])}")


@app.command()
def ui(
    host: Annotated[str, typer.Option(help="Address to listen on (loopback only).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
    store: StoreOption = None,
) -> None:
    """Serve MLflow's UI and REST API on the store until interrupted.

    Example: seamount track ui --port 5001
    """
    from seamount.tracking.store import open_store

    if host not in ("127.0.0.1", "localhost", "::1"):
        raise UserError(
            f"--host {host!r}: the UI has no login yet and listens on this machine only; "
            "leave out --host and use an SSH tunnel from elsewhere"
        )
    uri = open_store(store).uri
    typer.echo(f"http://{host}:{port}  runs in {uri}  (ready in about half a minute; Ctrl-C ends)")
    sys.stdout.flush()
    # Replaces this process: signals reach the server itself, and nothing is left behind.
    os.execve(sys.executable, _server_command(uri, host, port), _server_environment())


def _server_command(uri: str, host: str, port: int) -> list[str]:
    server = ["-m", "mlflow", "server", "--backend-store-uri", uri, "--workers", "1"]
    return [sys.executable, *server, "--host", host, "--port", str(port)]


def _server_environment() -> dict[str, str]:
    return settings.child_environment(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")


def _clock(time_us: int) -> str:
    moment = datetime.datetime.fromtimestamp(time_us / 1e6, datetime.UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")


def _show(run: dict[str, Any]) -> None:
    typer.echo(f"{run['run_id']}  {run['name']}  (project {run['project']})")
    typer.echo(f"state    {run['state']}  started {_clock(run['created_us'])}")
    if run["error"]:
        typer.echo(f"error    {run['error']['type']}: {run['error']['message']}")
    for title in ("config", "tags"):
        for key, value in run[title].items():
            typer.echo(f"{title:<8} {key} = {value}")
    for name, entry in run["files"].items():
        typer.echo(f"file     {name}  {entry['size_bytes']} bytes  sha256 {entry['digest'][:12]}")
    for metric in run["metrics"]:
        where = f" (rank {metric['rank']})" if metric["rank"] else ""
        typer.echo(
            f"metric   {metric['name']}{where} = {metric['last_value']:g} "
            f"at step {metric['last_step']}  ({metric['points']} points)"
        )
