"""`seamount train RECIPE --dry-run`: what each rank will hold, send and take, as a table."""

from __future__ import annotations

from typing import Any

import typer

from seamount.cli.json_output import emit
from seamount.core.progress import amount
from seamount.core.wording import counted

_MEMORY = {
    "parameter_bytes": "parameters",
    "gradient_bytes": "gradients",
    "optimizer_bytes": "optimiser state",
    "activation_bytes": "activations",
    "passing_bytes": "passing tensors",
    "peak_bytes": "most at once",
}


def show(
    recipe: Any, device: str, peak: float | None, mfu: float | None, json_file: str | None
) -> None:
    """Print the predictions for the checked `recipe`; nothing is written or trained."""
    from seamount.training.prediction import predict

    found = predict(recipe, device, peak, mfu)
    if emit(found, json_file):
        return
    _head(recipe, found)
    _memory(found)
    _traffic(found)
    _time(found)


def _head(recipe: Any, found: dict[str, Any]) -> None:
    layout = recipe.parallel
    _row("model", f"{found['model']}, {found['parameters']:,} parameters, {recipe.precision}")
    _row(
        "layout",
        f"{counted(found['ranks'], 'rank')}: {layout.pipeline} pipeline x {layout.data} data x "
        f"{layout.tensor} tensor",
    )
    _row(
        "step",
        f"{found['tokens_per_step']:,} tokens, "
        f"{found['micro_batches']:,} x {recipe.micro_batch_size} sequences of "
        f"{recipe.data.sequence_length:,} on each data rank",
    )
    _row("run", f"{found['steps']:,} steps, {found['tokens']:,} tokens")
    _row("checkpoint", amount(found["checkpoint_bytes"]))


def _memory(found: dict[str, Any]) -> None:
    memory = found["memory"]
    place = f", pipeline rank {memory['pipeline_rank']}" if found["ranks"] > 1 else ""
    typer.echo(f"memory of the rank that holds most{place}")
    for key, label in _MEMORY.items():
        _row(f"  {label}", amount(memory[key]))
    _row("  before the start", f"{amount(memory['start_bytes'])} (the whole model, on each rank)")


def _traffic(found: dict[str, Any]) -> None:
    if found["collectives"]:
        typer.echo("collectives of a step, on the rank with most")
    for row in found["collectives"]:
        axis = row["axis"].removesuffix("_parallel")
        _row(f"  {axis}", f"{row['count']:>7,} x {row['kind']:<15} {amount(row['bytes'])}")


def _time(found: dict[str, Any]) -> None:
    typer.echo(
        f"time on {found['device']}, at {found['assumed_mfu']:.0%} of "
        f"{found['peak_flops_per_rank'] / 1e12:,.4g} TFLOP/s a rank (assumed)"
    )
    _row("  operations", f"{found['model_flops']:.3g} floating-point operations in all")
    _row("  bubble", f"{found['bubble']:.1%} of a step")
    _row("  a step", f"{found['step_s']:,.3g} s, {found['tokens_per_s']:,.0f} tokens/s")
    hours = found["hours"]
    _row("  the run", f"{hours:,.1f} h" if hours >= 1 else f"{hours * 60:.1f} min")


def _row(label: str, value: str) -> None:
    typer.echo(f"{label:<20}{value}")
