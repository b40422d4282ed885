"""`seamount corpus build --dry-run`: what would be read, and what it would cost."""

from __future__ import annotations

from typing import Any

import typer

from seamount.cli.json_output import emit
from seamount.core.progress import amount
from seamount.core.wording import counted, one_line

_SHOWN = 12
_TELLING_BYTES = 1 << 20


def show(request: Any, json_file: str | None) -> None:
    """Print inputs and predictions; nothing is written to the output folder."""
    from seamount.corpora.text.build import plan
    from seamount.corpora.text.dry_run import predict

    planned = plan(request)
    found: list[dict[str, Any]] = [
        {"name": i.name, "size_bytes": i.size_bytes} for i in planned.inputs
    ]
    prediction = predict(request)
    if emit({"inputs": found, "batches": len(planned.batches), **prediction}, json_file):
        return
    total = sum(one.size_bytes for one in planned.inputs)
    typer.echo(f"{counted(len(found), 'input')}, {amount(total)}, {len(planned.batches)} batches")
    for one in found[:_SHOWN]:
        typer.echo(f"  {one['size_bytes']:>14,}  {one_line(one['name'])}")
    if len(found) > _SHOWN:
        typer.echo(f"  and {len(found) - _SHOWN:,} more")
    _print(prediction)


def _print(prediction: dict[str, Any]) -> None:
    sample = prediction["sample"]
    stages = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in sample["cpu_s"].items())
    typer.echo(f"built a sample of {counted(sample['documents'], 'document')}, ", nl=False)
    typer.echo(f"{amount(sample['bytes'])}: {stages} of CPU time")
    for reason, share in prediction["rules"].items():
        typer.echo(f"  {share:>8.3%}  {one_line(reason)}")
    typer.echo("")
    columns = ("text", "kept", "scratch disk", "1 worker", "16 workers", "64 workers")
    typer.echo(f"  {'':<20}" + "".join(f"{title:>13}" for title in columns))
    for label, key in (("this corpus", "corpus"), ("the Pile (825 GiB)", "pile")):
        part = prediction[key]
        sizes = [amount(part[name]) for name in ("bytes", "kept_bytes", "scratch_bytes")]
        times = [_duration(hours) for hours in part["hours"].values()]
        typer.echo(f"  {label:<20}" + "".join(f"{cell:>13}" for cell in (*sizes, *times)))
    typer.echo(f"  memory of a worker: about {amount(prediction['worker_memory_bytes'])}")
    typer.echo("  copies are more frequent in the whole than in a sample: less may be kept")
    typer.echo("  the start of a command and of its workers, some seconds, is left out")
    if sample["bytes"] < _TELLING_BYTES:
        typer.echo(f"  a sample below {amount(_TELLING_BYTES)} tells little: expect to be far off")


def _duration(hours: float) -> str:
    """Hours in the unit people would use."""
    if hours >= 1:
        return f"{hours:,.1f} h"
    return f"{hours * 60:.1f} min" if hours * 60 >= 1 else f"{hours * 3600:.1f} s"
