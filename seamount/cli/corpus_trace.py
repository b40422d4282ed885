"""`seamount corpus trace`: where a document went, and which documents a training step saw."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.corpus_tables import print_removed
from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import column, counted, one_line

_SHOWN = 40


def trace(
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a document of the corpus.")
    ] = None,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="A built corpus.")] = None,
    look: Annotated[
        list[str] | None,
        typer.Option(help="Folder of token files; repeatable. Default: around the corpus."),
    ] = None,
    tokens: Annotated[str | None, typer.Option(help="Token folder that a step read.")] = None,
    step: Annotated[
        int | None, typer.Option(min=1, help="Training step, from 1, as the metrics count.")
    ] = None,
    recipe: Annotated[str | None, typer.Option(help="Recipe of the training.")] = None,
    checkpoint: Annotated[
        str | None, typer.Option(help="Or its checkpoint, which knows recipe and tokens.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Follow a document to source, shard, line and token ranges; or a step back to its documents.

    Example: seamount corpus trace 00:12 runs/corpus

    Example: seamount corpus trace 00:12 runs/corpus --checkpoint runs/train   (in which steps)

    Example: seamount corpus trace --step 120 --checkpoint runs/train/checkpoints

    Example: seamount corpus trace --tokens runs/tokens --step 120 --recipe text/demo.yaml
    """
    if step is not None:
        if name is not None or (recipe is None) == (checkpoint is None):
            raise UserError("with --step give --checkpoint, or --tokens and --recipe, and no ID")
        _trace_step(step, tokens, recipe, checkpoint, json_file)
        return
    if name is None or url is None or recipe or (tokens and not checkpoint):
        raise UserError("give ID and URL of a corpus, or --step with the training it belongs to")
    from seamount.corpora.text.takedown.trace import trace as traced

    result = traced(url, name, look or ())
    if checkpoint is not None:
        result["steps"] = _steps(result, tokens, checkpoint)
    if not emit(result, json_file):
        _print_document(result)


def _steps(result: dict[str, Any], tokens: str | None, checkpoint: str) -> dict[str, list[int]]:
    """The steps up to the checkpoint in which the document (or a copy by epochs) was read."""
    from seamount.training.trace import order_of_checkpoint, steps_of

    order, where = order_of_checkpoint(checkpoint, tokens)
    names = {row["id"] for row in [*result["documents"], *result["excluded"]]}
    return steps_of(where, names, order)


def _print_document(result: dict[str, Any]) -> None:
    for row in result["copy_of"]:
        print_removed(row)
        typer.echo(f"  input    {one_line(row['input'])}")
    if result["copy_of"] and not result["documents"] and not result["excluded"]:
        typer.echo("  the document kept in its place had no room in the mixture, so none stands")
    for row in result["documents"]:
        typer.echo(f"{one_line(row['id'])}  ({one_line(row['component'])})")
        typer.echo(f"  source   {one_line(row['source'])}")
        typer.echo(f"  input    {one_line(row['input'])}")
        typer.echo(f"  stands   {one_line(row['shard'])} line {row['line']}, {row['split']}")
        typer.echo(f"  digest   {row['digest']}, {counted(row['bytes'], 'byte')}")
    for row in result["excluded"]:
        where = f"{one_line(row['shard'])} line {row['line']}"
        typer.echo(f"{one_line(row['id'])}: excluded (number {row['exclusion']}); was {where}")
    for other in result["same_text"][:_SHOWN]:
        typer.echo(f"  same text  {one_line(other)}")
    _print_cluster(result)
    for part in result["tokens"]:
        place = f"{part['split']} tokens {part['start']:,} to {part['end']:,}"
        typer.echo(f"  tokens   {one_line(part['folder'])}: {place} ({part['state']})")
    for other, steps in result.get("steps", {}).items():
        told = ", ".join(map(str, steps[:_SHOWN])) + (", ..." if len(steps) > _SHOWN else "")
        typer.echo(f"  steps    {one_line(other)}: {told}")
    if "steps" in result and not result["steps"]:
        typer.echo("  steps    in none up to this checkpoint")
    if not result["tokens"]:
        typer.echo("  tokens   in no token folder that was looked at (--look FOLDER)")


def _print_cluster(result: dict[str, Any]) -> None:
    if result["cluster"] is None:
        typer.echo(f"  copies   unknown: {result['cluster_note']}")
        return
    if not result["cluster"]:
        typer.echo("  copies   none was removed in its favour")
    for row in result["cluster"][:_SHOWN]:
        alike = f"{row['kind']}, {row['similarity']:.2f}"
        typer.echo(f"  copy     {one_line(row['id'])}  ({one_line(row['component'])}) {alike}")
        typer.echo(f"           {one_line(row['source'])}")
    if len(result["cluster"]) > _SHOWN:
        typer.echo(f"  and {len(result['cluster']) - _SHOWN} more copies (--json has all)")


def _trace_step(
    step: int,
    tokens: str | None,
    recipe: str | None,
    checkpoint: str | None,
    json_file: str | None,
) -> None:
    from seamount.training import trace as training_trace

    if checkpoint is not None:
        order, where = training_trace.order_of_checkpoint(checkpoint, tokens)
    else:
        from seamount.training.recipe import load_recipe

        loaded = load_recipe(recipe or "")
        order, where = training_trace.order_of_recipe(loaded), tokens or loaded.data.tokens or ""
        if not where:
            raise UserError("the recipe names no tokens: give their folder with --tokens")
    result = training_trace.documents_of_step(where, step, order)
    if emit(result, json_file):
        return
    sizes = f"{order.sizes.at(step - 1)} sequences of {order.sequence_length} + 1 tokens"
    typer.echo(f"step {step}: {sizes}, {counted(len(result['documents']), 'document')}")
    ids = [one["id"] for one in result["documents"][:_SHOWN]]
    for shown, one in zip(column(ids), result["documents"], strict=False):
        typer.echo(f"  {shown} {one['tokens']:>8,} tokens  {one_line(one['component'], 60)}")
    if len(result["documents"]) > _SHOWN:
        typer.echo(f"  and {len(result['documents']) - _SHOWN} more (--json has all)")
