"""`seamount run`: the main job, as the flow corpus_to_model with an embedded Prefect server."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core import settings, storage
from seamount.core.errors import UserError

app = typer.Typer(
    add_completion=False, help="The main job: real text to a trained, scored, exported model."
)
DEFAULT_RECIPE = "text/run.yaml"
DEMO = "text/demo.yaml"


@app.command(cls=JsonCommand)
def run(
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Changes to the training recipe: key=value ...")
    ] = None,
    recipe: Annotated[
        str, typer.Option(help="Path or short name of a run recipe, or of a training recipe.")
    ] = DEFAULT_RECIPE,
    corpus: Annotated[
        str | None,
        typer.Option(
            help="local, URL of *.jsonl.zst, .jsonl.gz, .parquet, ..., or a finished corpus."
        ),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Folder for all results (default runs/demo).")
    ] = None,
    catalog: Annotated[str | None, typer.Option(help="Catalog that sets the mixture.")] = None,
    workers: Annotated[int | None, typer.Option(help="Dask workers.")] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    max_bytes: Annotated[int | None, typer.Option(help="Bound on the corpus' text bytes.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the corpus.")] = None,
    restart: Annotated[bool, typer.Option(help="Drop checkpoints of another training.")] = False,
    dry_run: Annotated[bool, typer.Option(help="Check and show what would run.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Build a corpus, train, score, quantise and export a model, and report on it.

    Example: seamount run --out runs/first
    Example: seamount run --corpus data/pile --out runs/pile steps=500
    """
    start_s = time.monotonic()
    options = {
        "catalog": catalog,
        "workers": workers,
        "scheduler": scheduler,
        "max_bytes": max_bytes,
        "seed": seed,
    }
    parameters = read_parameters(recipe, overrides or [], options)
    parameters |= {k: v for k, v in (("corpus", corpus), ("out", out)) if v is not None}
    parameters |= {"restart": True} if restart else {}
    check(parameters)
    if dry_run:
        emit(parameters, json_file or "-")
        return
    from seamount.cli.flow_run import run_flow

    result = run_flow("corpus_to_model", parameters)
    result["seconds"] = round(time.monotonic() - start_s, 1)
    if json_file != "-":
        typer.echo(summary(result))
    emit(result, json_file)


def read_parameters(
    recipe: str, overrides: list[str], corpus_options: dict[str, Any]
) -> dict[str, Any]:
    """Parameters of the flow from a run recipe, with the command line's on top.

    A training recipe is taken too, and then runs with the flow's other defaults.
    """
    from seamount.training.recipe import read_recipe

    content = read_recipe(recipe)
    if "recipe" not in content:
        content = (
            {"recipe": recipe} if "model" in content else content | {"recipe": "text/demo.yaml"}
        )
    content["overrides"] = [*(content.get("overrides") or []), *overrides]
    given = {name: value for name, value in corpus_options.items() if value is not None}
    content["corpus_options"] = {**(content.get("corpus_options") or {}), **given}
    return content


def check(parameters: dict[str, Any]) -> None:
    """Raise UserError for what is wrong at first sight, before anything is started."""
    from seamount.corpora.text.inputs import is_catalog, reader_of
    from seamount.training.recipe import load_recipe

    load_recipe(parameters["recipe"], parameters["overrides"])
    corpus = parameters.get("corpus", "local")
    named = is_catalog(corpus) or reader_of(corpus) is not None
    if not named and not storage.exists(corpus):
        raise UserError(f"nothing stands at --corpus {corpus!r}: check the path, or use `local`")
    refuse_place(parameters.get("out", "runs/demo"), corpus)


def refuse_place(out: str, corpus: str) -> None:
    """Raise UserError for an output that is no folder, or that a later run would read as input."""
    if not out:
        raise UserError("--out is empty: name a folder")
    if storage.exists(out) and not storage.is_folder(out):
        raise UserError(f"a file stands at --out {out!r}: name a folder")
    if storage.exists(corpus) and storage.is_inside(out, corpus):
        raise UserError(
            f"--out {out!r} is the corpus {corpus!r} or lies in it: name another folder"
        )


def summary(result: dict[str, Any]) -> str:
    """The last lines: figures, where each thing is, and what to type next."""
    bpb, export, weights = result["bpb"], result["export"], result["bpb"]["weights"]
    scaled = (
        f", scaled to the components present: {len(weights['values'])}, "
        f"{weights['present_share']:.3g} of all weight"
        if weights["renormalised"]
        else ""
    )
    lines = [
        "",
        f"bits per byte on the test split, weighted by {weights['source']}{scaled}:",
        f"  model            {bpb['weighted']:.2f}",
        *[_beside(name, value, bpb["weighted"]) for name, value in result["baselines"].items()],
        "",
        f"  corpus           {result['corpus']}",
        f"  model            {result['model']}",
        f"  exported         {export['path']}  ({_delta(export['bpb_delta'])} bits per byte)",
        f"  report           {result['report']}",
        f"  result           {result['result']}",
        f"  tracked run      {result['run_id']}  in {settings.tracking_uri()}",
        f"  took             {result['seconds']:.0f} s",
        "",
        "next:",
        f'  seamount generate --model {result["model"]} "def main"',
        f"  seamount lineage {storage.join(result['lineage'].rpartition('/')[0])}",
        f"  seamount track get {result['run_id']}",
        "  make up    (Prefect's pages and the tracking UI on this machine)",
    ]
    return "\n".join(lines)


_SAYS = {
    "zstd": "zstd -19",
    "xz": "xz -9e",
    "zstd_whole": "zstd -19, whole",
    "xz_whole": "xz -9e, whole",
    "unigram": "byte histogram",
}


def _beside(name: str, value: float, model: float) -> str:
    return f"  {_SAYS.get(name, name):<17}{value:.2f}  ({model - value:+.2f} is the model's gap)"


def _delta(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:+.4f}"
