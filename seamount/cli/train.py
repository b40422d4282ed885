"""`seamount train`: train by a recipe, and prove that its layouts compute the same."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from seamount.cli.json_output import JsonCommand, JsonOption, emit

_RECIPE_VERB = "recipe"


class RecipeOrVerb(TyperGroup):
    """A known verb wins; any other first word is the recipe to train."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The verb that `args` begin with, or the training of the recipe they begin with."""
        if args and args[0] not in self.commands:
            args = [_RECIPE_VERB, *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let options stand before the recipe, as in `seamount train --dry-run RECIPE`."""
        first = args[0] if args else ""
        if first.startswith("-") and first not in ("--help", "-h"):
            args = [_RECIPE_VERB, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=RecipeOrVerb,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train by a recipe: `seamount train RECIPE [key=value ...] [--out DIR]`. "
    "Options of it: `seamount train recipe --help`.",
)

Recipe = Annotated[str, typer.Argument(help="Path or short name, such as text/demo.yaml.")]
Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[key=value]...", help="Values to replace.")
]


@app.command(_RECIPE_VERB, cls=JsonCommand)
def recipe_verb(
    recipe: Recipe,
    overrides: Overrides = None,
    out: Annotated[str, typer.Option("--out", help="Folder for the results.")] = "runs/train",
    restart: Annotated[
        bool, typer.Option("--restart", help="Drop the checkpoints that stand in --out.")
    ] = False,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Show the whole recipe and stop.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and predict, train nothing.")
    ] = False,
    device: Annotated[
        str, typer.Option("--device", help="With --dry-run: h100, a100, or cpu (this machine).")
    ] = "cpu",
    peak: Annotated[
        float | None, typer.Option("--peak", help="FLOP/s of one device, instead of the known.")
    ] = None,
    mfu: Annotated[
        float | None, typer.Option("--mfu", help="Share of the peak to expect, in (0, 1].")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Train RECIPE; an interrupted run continues from its last checkpoint.

    Example: seamount train text/demo.yaml steps=200 --out runs/short
    Example: seamount train text/7b.yaml include=text/layouts/64-gpus.yaml --dry-run --device h100
    """
    from seamount.training.recipe import load_recipe, recipe_to_dict

    loaded = load_recipe(recipe, overrides or [])
    if print_config:
        import yaml

        content = recipe_to_dict(loaded)
        if not emit(content, json_file):
            typer.echo(yaml.safe_dump(content, sort_keys=False), nl=False)
        return
    if dry_run:
        from seamount.cli.train_dry_run import show

        show(loaded, device, peak, mfu, json_file)
        return
    _train(loaded, out, restart, json_file)


def _train(recipe: Any, out: str, restart: bool, json_file: str | None) -> None:
    from dataclasses import asdict

    from seamount.tracking.run import Run
    from seamount.training.language import TrainRequest, last_run_id, train
    from seamount.training.preparation import prepare
    from seamount.training.recipe import recipe_to_dict

    data = prepare(recipe)
    with Run(name="train", run_id=None if restart else last_run_id(out)) as run:
        run.log_configs(recipe_to_dict(recipe))
        request = TrainRequest(
            recipe, data.tokens, data.tokenizer, out, restart, run.run_id, run.log_metrics
        )
        found = train(request)
    result = asdict(found) | {"run_id": run.run_id}
    if not emit(result, json_file):
        _show(result)
        typer.echo(f'next: seamount generate --model {found.model} "def main"')


@app.command(cls=JsonCommand)
def parity(
    recipe: Recipe,
    overrides: Overrides = None,
    layout: Annotated[
        list[str] | None, typer.Option(help="Only this layout (repeatable); all that fit without.")
    ] = None,
    plant: Annotated[
        str | None, typer.Option(help="Put this known fault into every rank: it must show.")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Hold RECIPE, shrunk, in every layout against one process; exit 1 where they differ.

    Example: seamount train parity text/demo.yaml --layout tp2xpp2
    Example: seamount train parity text/demo.yaml --plant tied-not-summed
    """
    from seamount.training.parity import compare
    from seamount.training.recipe import load_recipe

    verdict = compare(load_recipe(recipe, overrides or []), layout or [], plant)
    if not emit(verdict, json_file):
        for name, row in verdict["layouts"].items():
            typer.echo(
                f"{name:<12} {'ok' if row['ok'] else 'DIFFERS':<8} max |d loss| {row['loss']:.1e}  "
                f"|d norm| {row['norm']:.1e}  |d grad| {row['grad']:.1e}  ({row['worst']})"
            )
    if not verdict["ok"]:
        raise typer.Exit(1)


def _show(figures: dict[str, Any]) -> None:
    for name, value in figures.items():
        typer.echo(f"{name:<18}{value}")
