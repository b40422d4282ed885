"""`seamount track`: verify tracked runs, SQL, the dashboard on them; the other verbs stand in
track_find.py, track_judge.py, track_keep.py, track_plot.py, track_import.py and track_sync.py."""

from __future__ import annotations

import csv as csv_module
import decimal
import os
import sys
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.cli.track_find import StoreOption, best, get, ls, query
from seamount.cli.track_import import import_runs
from seamount.cli.track_judge import audit, importance, promote
from seamount.cli.track_keep import delete, gc, quota, restore
from seamount.cli.track_plot import open_picture, plot
from seamount.cli.track_sync import sync
from seamount.core import settings
from seamount.core.errors import SeamountError, UserError
from seamount.core.wording import one_line

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Find, read, compare and verify tracked runs.\n\n"
    'Example: seamount track ls --where "config.lr < 0.1" --sort "min(loss)"',
)

app.command(cls=JsonCommand)(ls)
app.command(cls=JsonCommand)(query)
app.command(cls=JsonCommand)(get)
app.command(cls=JsonCommand)(best)
app.command(cls=JsonCommand)(audit)
app.command(cls=JsonCommand)(importance)
app.command(cls=JsonCommand)(promote)
app.command(cls=JsonCommand)(plot)
app.command("open", cls=JsonCommand)(open_picture)
app.command("import", cls=JsonCommand)(import_runs)
app.command(cls=JsonCommand)(sync)
app.command(cls=JsonCommand)(delete)
app.command(cls=JsonCommand)(restore)
app.command(cls=JsonCommand)(gc)
app.command(cls=JsonCommand)(quota)


@app.command(cls=JsonCommand)
def verify(
    run: Annotated[str, typer.Argument(help="Run id.")],
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Prove that no record of a run is missing, or name what is; exit 1 if something is.

    Example: seamount track verify RUN --json
    """
    from seamount.tracking.store.folder import open_store
    from seamount.tracking.store.verify import verify as check

    result = check(open_store(store, create=False), run)
    if not emit(result, json_file):
        verdict = "whole" if result["ok"] else "NOT whole"
        typer.echo(
            f"run {run} ({one_line(result['state'])}) is {verdict}: {result['points']} points in "
            f"{len(result['strands'])} strands, {result['files']} files"
        )
    if not result["ok"]:
        raise SeamountError(f"run {run}: {'; '.join(result['problems'])}")


@app.command(cls=JsonCommand)
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT over metrics, configs, runs, tags, ...")],
    csv: Annotated[bool, typer.Option("--csv", help="Print as CSV.")] = False,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Ask the store in SQL (DuckDB's); it reads the store's own tables and nothing else.

    Example: seamount track sql "select run_id, min(value) from metrics group by run_id"
    """
    from seamount.tracking import query as questions

    table = questions.sql(query, store)
    names = table.column_names
    columns = (column.to_pylist() for column in table.columns)
    rows = [[_plain(value) for value in row] for row in zip(*columns, strict=True)]
    if json_file is not None:
        _refuse_twins(names)
    if emit([dict(zip(names, row, strict=True)) for row in rows], json_file):
        return
    if csv:
        writer = csv_module.writer(sys.stdout, lineterminator="\n")
        writer.writerows([names, *rows])
    else:
        _print_table(names, rows)


@app.command()
def compact(
    run: Annotated[str | None, typer.Argument(help="Run id (default: every run).")] = None,
    store: StoreOption = None,
) -> None:
    """Put the metric points of a run into Parquet files now; readers also do it by and by.

    Example: seamount track compact
    """
    from seamount.tracking.points.compaction import compact_run
    from seamount.tracking.points.history import has_columns
    from seamount.tracking.store.folder import open_store

    if not has_columns():
        raise UserError("compaction needs pyarrow: run `pip install seamount[query]`")
    opened = open_store(store, create=False)
    opened.refresh(run)
    with opened.index() as index:
        wanted = [index.run(run)] if run else index.runs(deleted=True)
        for row in wanted:
            if not compact_run(index, row["run_id"]):
                typer.echo(f"{row['run_id']} is being compacted by another process", err=True)


@app.command()
def ui(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 5000,
    token: Annotated[
        str | None,
        typer.Option(help="Demand this token (better: SEAMOUNT_TRACKING_TOKEN, unseen by ps)."),
    ] = None,
    no_mlflow: Annotated[
        bool, typer.Option("--no-mlflow", help="Leave out MLflow's UI and REST API.")
    ] = False,
    store: StoreOption = None,
) -> None:
    """Serve the dashboard, MLflow's UI and REST API, and take deliveries, until interrupted.

    Listens on this machine only, unless --host names another address; that demands a token.

    Example: seamount track ui --port 5001

    Example: SEAMOUNT_TRACKING_TOKEN=... seamount track ui --host 0.0.0.0
    """
    from seamount.core.http import is_loopback
    from seamount.tracking.dashboard.assets import what_is_missing
    from seamount.tracking.store.folder import open_store

    secret = token or settings.tracking_token()
    if not is_loopback(host) and not secret:
        raise UserError(
            f"--host {host!r} lets other machines in, and no token is set: put a long random one "
            "into SEAMOUNT_TRACKING_TOKEN here and at the clients, or leave out --host"
        )
    uri = open_store(store).uri
    if (sentence := what_is_missing()) is not None:
        typer.echo(sentence, err=True)
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    asks = "; asks for the token" if secret else ""
    typer.echo(f"{address}  dashboard, and where MLflow's clients go; runs in {uri}{asks}")
    if not no_mlflow:
        typer.echo(f"{address}/mlflow/  MLflow's UI, some twenty seconds after it is first asked")
    sys.stdout.flush()
    # Replaces this process: signals reach the server itself, and nothing is left behind.
    command = _server_command(uri, host, port) + (["--no-mlflow"] if no_mlflow else [])
    os.execve(sys.executable, command, _server_environment(secret))


def _server_command(uri: str, host: str, port: int) -> list[str]:
    server = ["-m", "seamount.tracking.server", "--store", uri]
    return [sys.executable, *server, "--host", host, "--port", str(port)]


def _server_environment(token: str | None) -> dict[str, str]:
    """The token goes by the environment: arguments are for all to see."""
    return settings.child_environment(
        MLFLOW_DISABLE_TELEMETRY="true",
        DO_NOT_TRACK="true",
        SEAMOUNT_TRACKING_TOKEN=token or "",
    )


def _plain(value: Any) -> Any:
    """A cell as JSON can hold it."""
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    plain = value is None or isinstance(value, bool | int | float | str)
    return value if plain else str(value)


def _refuse_twins(names: list[str]) -> None:
    """A row as JSON is an object: it has one value a name."""
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"two columns are named {name!r}: give one another name with AS")


def _print_table(names: list[str], rows: list[list[Any]]) -> None:
    cells = [[one_line("" if v is None else v) for v in row] for row in (names, *rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(names))]
    for row in cells:
        typer.echo("  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip())
