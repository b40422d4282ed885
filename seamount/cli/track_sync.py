"""`seamount track sync`: runs of a store to a server."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.cli.track_find import StoreOption
from seamount.core import settings
from seamount.core.errors import SeamountError, UserError

_WATCH_S = 2.0
_MAX_NAMED = 10


def sync(
    runs: Annotated[list[str] | None, typer.Argument(help="Run ids (default: every run).")] = None,
    to: Annotated[
        str | None,
        typer.Option(help="http://host:port of a server (default: SEAMOUNT_TRACKING_DELIVER_TO)."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on as runs grow, until interrupted.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Ask the server anew, and offer again what it refused.")
    ] = False,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to try a server that does not answer.")
    ] = 30.0,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Deliver runs to a `seamount track ui` or an MLflow server; each point once, however often.

    The token stands in SEAMOUNT_TRACKING_TOKEN (or MLFLOW_TRACKING_TOKEN). Exit 1 where something
    is left to send.

    Example: seamount track sync --to http://tracker:5000

    Example: seamount track sync RUN --to https://mlflow.example.org --json
    """
    from seamount.core.progress import bar
    from seamount.tracking.delivery.sync import behind_bytes
    from seamount.tracking.delivery.sync import sync as deliver
    from seamount.tracking.store.folder import open_store

    address = to or settings.tracking_deliver_to()
    if not address:
        raise UserError("say where to: --to http://host:port, or SEAMOUNT_TRACKING_DELIVER_TO")
    opened, wanted = open_store(store, create=False), runs or []
    while True:
        total = behind_bytes(opened, wanted, address)
        with bar("delivering", total, in_bytes=True) as progress:
            result = deliver(
                opened,
                wanted,
                address,
                again=again,
                patience_s=patience,
                told=lambda run, amount: progress.advance(amount, run[:20]),
            )
        if not watch:
            break
        _show(result, only_news=True)
        again = False
        time.sleep(_WATCH_S)
    if not emit(result, json_file):
        _show(result)
    left = [row for row in result["runs"] if row["outcome"] == "left"]
    if left:
        why = left[0]["problem"] or "it grows faster than it is sent"
        raise SeamountError(f"{len(left)} of {len(result['runs'])} runs are not all there: {why}")


def _show(result: dict[str, Any], only_news: bool = False) -> None:
    rows = [r for r in result["runs"] if not only_news or r["sent"]]
    for row in rows:
        sent = ", ".join(f"{n} {what}" for what, n in row["sent"].items() if n) or "nothing"
        left = row.get("left") or {}
        behind = (
            f"; {left['points']} points, {left['files']} files left" if any(left.values()) else ""
        )
        typer.echo(f"{row['run_id']}  {row['outcome']:<12}  sent {sent}{behind}")
        for what, number in (row.get("left_out") or {}).items():
            typer.echo(f"    no place there for {number} {what}")
        if row.get("refused"):
            typer.echo(f"    refused for good: {row['refused']}")
        for entry in (row.get("refused_first") or [])[:_MAX_NAMED]:
            typer.echo(f"      {entry['what']}  ({entry['reason']})")
        if row["problem"]:
            typer.echo(f"    {row['problem']}")
    if not only_news:
        typer.echo(f"{len(rows)} runs, to {result['to']} ({result['kind'] or 'no answer yet'})")
