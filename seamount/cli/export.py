"""`seamount export`: quantise and export a model, published only if it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core.wording import NAME_CELLS, one_line

if TYPE_CHECKING:
    from seamount.export.publish import ExportRef

app = typer.Typer(add_completion=False, help="Quantise and export a model behind a gate.")

DEFAULT_GATE = 0.02  # bits per byte


@app.command(cls=JsonCommand)
def export(
    model: Annotated[str, typer.Argument(help="Model folder or checkpoint.")],
    out: Annotated[str, typer.Option(help="Folder to publish; whole or absent.")],
    format_: Annotated[str, typer.Option("--format", help="onnx.")] = "onnx",
    quantize: Annotated[str, typer.Option(help="none, or int8 (weights, per channel).")] = "none",
    data: Annotated[
        str | None, typer.Option(help="Corpus (its test split) or jsonl.zst to measure on.")
    ] = None,
    context: Annotated[int | None, typer.Option(help="Input tokens of a window.")] = None,
    max_bpb_delta: Annotated[
        float | None,
        typer.Option(
            help="Most bits per byte it may lose, overall and in each component "
            "(0.02 where --data is given)."
        ),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Export MODEL, prove it equal to the torch model, measure it, and publish it if it holds.

    Example: seamount export runs/a/model --out exported --quantize int8 --data runs/a/corpus
    """
    from seamount.evaluation.held_out import held_out
    from seamount.export.gate import GateFailed
    from seamount.export.publish import ExportRequest, export_model

    given = held_out(data) if data else None
    request = ExportRequest(
        model=model,
        out=out,
        format=format_,
        quantize=quantize,
        data=data,
        documents=given.documents if given else None,
        weights=given.weights if given else None,
        generated=given.generated if given else (),
        context_length=context,
        max_bpb_delta=DEFAULT_GATE if given and max_bpb_delta is None else max_bpb_delta,
    )
    try:
        found = export_model(request)
    except GateFailed as failed:
        emit(failed.report, json_file)
        raise
    emit(found.to_dict(), json_file)
    if json_file != "-":
        _show(found)


def _show(found: ExportRef) -> None:
    typer.echo(f"published  {found.path}")
    typer.echo(f"size       {found.size_bytes:,} bytes ({found.size_ratio:.0%} of fp32)")
    typer.echo(
        f"parity     {found.parity['max_abs_error']:.2g} largest error over "
        f"{len(found.parity['shapes'])} shapes"
    )
    if found.bpb_delta is not None:
        worst = max(found.components, key=lambda name: found.components[name])
        typer.echo(
            f"loss       {found.bpb_delta:+.4f} bits per byte, worst {one_line(worst, NAME_CELLS)} "
            f"{found.components[worst]:+.4f}"
        )
    typer.echo(f'next       seamount generate --model {found.folder} "..."')
