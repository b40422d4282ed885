"""`seamount generate`: continue a prompt with a trained or exported model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit

app = typer.Typer(add_completion=False, help="Continue a prompt with a model.")


@app.command(cls=JsonCommand)
def generate(
    model: Annotated[
        str, typer.Option("--model", help="Model folder, checkpoint, export folder or .onnx file.")
    ],
    prompt: Annotated[
        str, typer.Argument(help="Text to continue; nothing starts a document.")
    ] = "",
    max_new_tokens: Annotated[int, typer.Option(help="Tokens to add at most.")] = 128,
    temperature: Annotated[float, typer.Option(help="0 is greedy; 1 the model's own odds.")] = 0.8,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always the likeliest token.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    json_file: JsonOption = None,
) -> None:
    """Continue PROMPT; the text streams to the terminal.

    Example: seamount generate --model runs/first/model "def main" --greedy
    """
    from seamount.inference.generate import check
    from seamount.inference.generate import generate as continue_prompt
    from seamount.inference.loading import load_model

    loaded = load_model(model)
    chosen = 0.0 if greedy else temperature
    check(loaded, prompt, max_new_tokens, chosen, seed)  # before anything is shown
    streams = json_file != "-"
    if streams:
        typer.echo(prompt, nl=False)
    found = continue_prompt(
        loaded,
        prompt,
        max_new_tokens,
        chosen,
        seed,
        on_text=(lambda piece: typer.echo(piece, nl=False)) if streams else None,
    )
    if streams:
        typer.echo()
    emit({**asdict(found), "model": model, "model_digest": loaded.digest}, json_file)
