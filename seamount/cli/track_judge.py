"""`seamount track audit | importance | promote`: judgements on runs, and a checkpoint's alias."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.cli.track_find import ProjectOption, StoreOption, WhereOption
from seamount.core.wording import one_line


def audit(
    run: Annotated[str, typer.Argument(help="Run id.")],
    other: Annotated[str | None, typer.Argument(help="A second run to compare with.")] = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Say what a rerun of RUN would lack, or what differs between RUN and OTHER.

    Example: seamount track audit RUN

    Example: seamount track audit RUN OTHER --json differences.json
    """
    from seamount.tracking.query import audits as judge

    if other is not None:
        sections = judge.compare(run, other, store)
        if not emit(sections, json_file):
            _print_differences(sections)
        return
    found = judge.audit(run, store)
    if emit(found.to_dict(), json_file):
        return
    for text in found.held:
        typer.echo(f"has    {one_line(text)}")
    for text in found.missing:
        typer.echo(f"lacks  {one_line(text)}")


def importance(
    metric: Annotated[str, typer.Argument(help="Metric's name.")],
    where: WhereOption = None,
    aggregate: Annotated[str, typer.Option(help="last, min, max or mean.")] = "last",
    project: ProjectOption = None,
    seed: Annotated[int, typer.Option(help="Seed of shuffles and resampling.")] = 0,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Rank configs by how strongly they go with a metric, with 95 % intervals.

    Example: seamount track importance val/loss --aggregate min --project demo
    """
    from seamount.tracking.query.effects import importance as measure

    found = measure(metric, where, aggregate=aggregate, project=project, seed=seed, store=store)
    rows = found.frame.rows()
    if emit({"metric": found.metric, "runs": found.runs, "notes": found.notes, "configs": rows},
            json_file):  # fmt: skip
        return
    typer.echo(f"{found.metric} of {found.runs} runs; effect and its 95 % interval")
    for row in rows:
        typer.echo("  ".join(filter(None, (_effect(row), one_line(row["config"]), row["note"]))))
    for note in found.notes:
        typer.echo(note, err=True)


def promote(
    run: Annotated[str, typer.Argument(help="Run id.")],
    alias: Annotated[str, typer.Argument(help="Alias, such as champion.")],
    model: Annotated[str | None, typer.Option(help="Registered model (default: project).")] = None,
    file: Annotated[
        str | None, typer.Option(help="File or folder of the run (default: newest checkpoint).")
    ] = None,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Register a run's checkpoint in MLflow's registry and point an alias at it.

    Example: seamount track promote RUN champion --model demo --file model

    MLflow's own clients then load models:/demo@champion.
    """
    from seamount.tracking.query.promotion import promote as register

    found = register(run, alias, model=model, file=file, store=store)
    if not emit(found, json_file):
        typer.echo(f"{found['uri']}  version {found['version']}: {found['file']} of run {run}")


def _effect(row: dict[str, Any]) -> str:
    low, high = row["low"], row["high"]
    between = "" if low is None or high is None else f" [{low:+.2f}, {high:+.2f}]"
    effect = "  none" if row["effect"] is None else f"{row['effect']:+.3f}"
    permuted = "" if row["permutation"] is None else f"  permutation {row['permutation']:+.3f}"
    return f"{effect}{between:<16}{permuted}"


def _print_differences(sections: dict[str, dict[str, list[Any]]]) -> None:
    for section, found in sections.items():
        for name, (left, right) in found.items():
            typer.echo(
                f"{section:<12} {one_line(name)}: {one_line(left, 100)} | {one_line(right, 100)}"
            )
    if not any(sections.values()):
        typer.echo("no differences", err=True)
