"""`seamount eval`: bits per byte of models and compressors, and two results side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core.wording import NAME_CELLS, one_line

if TYPE_CHECKING:
    from seamount.core.scoring import Scorer
    from seamount.evaluation.bpb import BpbResult
    from seamount.evaluation.held_out import HeldOut

_WIDTH = 120  # where no terminal tells its own

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Score models in bits per byte.\n\nExample: seamount eval bpb zstd --data corpus",
)


@app.command(cls=JsonCommand)
def bpb(
    model: Annotated[
        str,
        typer.Argument(help="A model folder, checkpoint or .onnx file; or zstd, xz, unigram."),
    ],
    data: Annotated[str, typer.Option(help="Corpus folder, or files of any form (URL).")],
    split: Annotated[str, typer.Option(help="Split of a corpus folder.")] = "test",
    protocol: Annotated[
        str | None, typer.Option(help="paper (disjoint windows; the default) or sliding.")
    ] = None,
    context: Annotated[
        int | None, typer.Option(help="Input tokens of a window (default: the model's).")
    ] = None,
    stride: Annotated[
        int | None, typer.Option(help="New tokens a window, for sliding (default: half).")
    ] = None,
    prefix_token: Annotated[
        str | None, typer.Option(help="Token before a document (default: BOS, else EOS).")
    ] = None,
    batch_tokens: Annotated[
        int | None, typer.Option(help="Input tokens a batch (default: 2048).")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Bits per byte by component and weighted, each document alone, every token once.

    Example: seamount eval bpb runs/first/model --data runs/first/corpus --json scores.json
    """
    from seamount.core import progress
    from seamount.evaluation.bpb import bpb as aggregate
    from seamount.evaluation.held_out import held_out

    given = held_out(data, split)
    options = {
        "context_length": context,
        "protocol_name": protocol,
        "stride": stride,
        "prefix_token": prefix_token,
        "batch_tokens": batch_tokens,
    }
    scorer, warnings = _scorer(model, given, {k: v for k, v in options.items() if v is not None})
    for warning in warnings:
        typer.echo(f"warning: {warning}", err=True)
    with progress.bar(f"score {split}") as bar:
        scores = _counted(scorer.score(given.documents()), bar)
        result = aggregate(scores, given.weights, scorer.protocol, given.generated)
    result = replace(result, warnings=warnings)
    emit(result.to_dict(), json_file)
    if json_file != "-":
        _show(result)


@app.command(cls=JsonCommand)
def compare(
    first: Annotated[
        str, typer.Argument(help="Result file of `eval bpb --json` or `export --json`.")
    ],
    second: Annotated[str, typer.Argument(help="Another one, on the same documents.")],
    json_file: JsonOption = None,
) -> None:
    """Differences of two results, second minus first, by component.

    Example: seamount eval compare before.json after.json
    """
    from seamount.evaluation.comparison import compare as difference
    from seamount.evaluation.comparison import read_result

    found = difference(read_result(first), read_result(second))
    if emit(found, json_file):
        return
    for warning in found["warnings"]:
        typer.echo(f"warning: {warning}", err=True)
    _table(("component", "first", "second", "difference"), found["rows"])


_SPELLING = {"context_length": "--context", "protocol_name": "--protocol"}


def _scorer(model: str, given: HeldOut, options: dict[str, Any]) -> tuple[Scorer, list[str]]:
    """The scorer, and what a reader of its figures must know; `options` are those typed."""
    from seamount.core import storage
    from seamount.core.errors import UserError
    from seamount.evaluation import baselines

    if model in baselines.NAMES:
        if options:
            typed = [_SPELLING.get(k, f"--{k.replace('_', '-')}") for k in options]
            raise UserError(
                f"{', '.join(typed)} would change nothing, since {model} has no windows of tokens: "
                "leave that out, or score a model"
            )
        return baselines.scorer(model, given.train), []
    if not storage.exists(model):
        raise UserError(
            f"no model at {model!r} and no baseline of that name: check the path, or use one of "
            f"{', '.join(baselines.NAMES)}"
        )
    from seamount.inference.loading import load_model
    from seamount.inference.score import ModelScorer

    scorer = ModelScorer(load_model(model), **options)
    return scorer, scorer.warnings


def _counted(scores: Any, bar: Any) -> Any:
    for score in scores:
        bar.advance()
        yield score


def _show(result: BpbResult) -> None:
    rows = [
        (name, f"{c.bpb:.4f}", _interval(c.low, c.high), f"{c.bytes:,}", f"{c.weight:.1%}")
        for name, c in result.components.items()
    ]
    head = result.headline
    low, high = head.weighted_interval or (None, None)
    rows.append(("weighted", f"{head.weighted:.4f}", _interval(low, high), "", "100%"))
    rows.append(("unweighted", f"{head.unweighted:.4f}", "", "", ""))
    rows.append(("all bytes", f"{head.all:.4f}", "", "", ""))
    if result.without_generated:
        rows.append(("without generated", f"{result.without_generated.weighted:.4f}", "", "", ""))
    _table(("component", "bits per byte", "95 % interval", "bytes", "weight"), rows)
    if low is not None and head.single_document_share:
        typer.echo(
            f"interval: {head.single_document_share:.0%} of the weight rests on components of a "
            "single document, whose spread it does not hold"
        )
    typer.echo(f"weights: {result.weights['source']}{_renormalised(result.weights)}")


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _renormalised(weights: dict[str, Any]) -> str:
    if not weights["renormalised"]:
        return ""
    return (
        f", scaled to the components present ({weights['present_share']:.0%} of the weight; "
        f"missing: {', '.join(one_line(name, NAME_CELLS) for name in weights['missing'])})"
    )


def _table(titles: tuple[str, ...], rows: list[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*titles, box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        name, *cells = row
        shown = (cell if isinstance(cell, str) else f"{cell:.4f}" for cell in cells)
        table.add_row(one_line(name, NAME_CELLS), *shown)
    console = Console(markup=False, highlight=False)
    console.print(table, width=None if console.is_terminal else _WIDTH)
