"""`seamount corpus dedupe-report`: how well copies are found in one's own data."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import column, counted, one_line

_VERDICT = {True: "met", False: "MISSED", None: "too few pairs to tell"}


def dedupe_report(
    url: Annotated[
        str | None, typer.Argument(metavar="URL", help="A built corpus, or files of any form.")
    ] = None,
    documents: Annotated[int, typer.Option(min=1, help="Documents drawn at random.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of the edits.")] = 0,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE.png|.svg", help="Draw recall by similarity.")
    ] = None,
    curve: Annotated[
        bool, typer.Option("--curve", help="Only print how likely a pair is to be looked at.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Plant edited copies in a sample, find them as a build does, and check pairs it joined.

    Recall at a similarity of 0.8 or more is held against 0.95, pairs joined below 0.3 against
    0.1 %; exit 1 if one of the two is missed. Nothing is changed.

    Example: seamount corpus dedupe-report runs/corpus --plot recall.png

    Example: seamount corpus dedupe-report raw/ --documents 20000 --json report.json

    Example: seamount corpus dedupe-report --curve
    """
    if curve:
        _show_curve(json_file)
        return
    if url is None:
        raise UserError("give the URL of a corpus or of *.jsonl.zst files, or --curve")
    from seamount.core import chart_curve, progress
    from seamount.corpora.text.audit import dedupe_report as reporting
    from seamount.corpora.text.audit import recall_picture

    if plot is not None:
        chart_curve.check_name(plot)
    with progress.bar("corpus: dedupe-report") as bar:
        result = reporting.dedupe_report(url, documents, seed, bar.advance)
    if plot is not None:
        recall_picture.write(result, plot)
    if not emit(result, json_file):
        _print(result)
        if plot is not None:
            typer.echo(f"  drawn: {one_line(plot)}")
    if result["ok"] is False:
        raise typer.Exit(1)


def _show_curve(json_file: str | None) -> None:
    from seamount.corpora.text.audit.leaks import meet_probability
    from seamount.corpora.text.dedupe.minhash import candidate_probability

    rows = [
        {
            "similarity": n / 10,
            "build": candidate_probability(n / 10),
            "leaks": meet_probability(n / 10),
        }
        for n in range(1, 11)
    ]
    if emit(rows, json_file):
        return
    typer.echo(f"  similarity {'build (20 x 6)':>15} {'--leaks (40 x 3)':>17}")
    for row in rows:
        typer.echo(f"  {row['similarity']:>10.1f} {row['build']:>15.4f} {row['leaks']:>17.4f}")


def _print(result: dict[str, Any]) -> None:
    drawn, precision = result["sample"], result["precision"]
    typer.echo(
        f"{one_line(result['url'])}: {counted(drawn['documents'], 'document')} of {drawn['of']:,}"
        f" ({drawn['without_words']} without words, {drawn['cut']} cut to their beginning), "
        f"{counted(result['planted']['pairs'], 'edited twin')}"
    )
    recall, wrong = result["recall"], precision["below"]["0.3"]
    met = None if recall["share"] is None else recall["share"] >= recall["bar"]
    typer.echo(f"  recall at {recall['from']} or more: {_told(recall)}; bar 95 %: {_VERDICT[met]}")
    met = None if wrong["share"] is None else wrong["share"] <= precision["bar"]
    typer.echo(f"  joined below 0.3: {_told(wrong)}; bar 0.1 %: {_VERDICT[met]}")
    _print_bins(result["bins"])
    _print_parts("edit", result["edits"])
    _print_parts("component", result["components"])
    _print_precision(precision)
    _print_build(result["build"])


def _told(part: dict[str, Any]) -> str:
    """`99.2 % (98.1 to 99.7), 240 of 242`."""
    if part["share"] is None:
        return "none tried"
    low, high = (f"{100 * part[key]:.2f}" for key in ("low", "high"))
    return f"{100 * part['share']:.2f} % ({low} to {high}), {part['hits']:,} of {part['of']:,}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _print_bins(bins: list[dict[str, Any]]) -> None:
    typer.echo(
        f"  {'similarity':<12} {'twins':>7} {'theory':>9} {'share a band':>13} {'joined':>9}   95 %"
    )
    for part in bins:
        same = part["low"] == part["high"]
        name = f"{part['low']:.0f}" if same else f"{part['low']:g} to {part['high']:g}"
        joined = part["joined"]
        interval = f"{100 * joined['low']:.1f} to {100 * joined['high']:.1f}"
        typer.echo(
            f"  {name:<12} {joined['of']:>7,} {_percent(part['theory']):>9} "
            f"{_percent(part['met']['share']):>13} {_percent(joined['share']):>9}   "
            f"{interval if joined['of'] else ''}".rstrip()
        )


def _print_parts(title: str, parts: dict[str, Any]) -> None:
    head, *names = column([title, *parts])
    typer.echo(f"  {head} {'twins':>7}   recall at 0.8 or more")
    for shown, part in zip(names, parts.values(), strict=True):
        typer.echo(f"  {shown} {part['pairs']:>7,}   {_told(part['recall'])}")


def _print_precision(part: dict[str, Any]) -> None:
    typer.echo(
        f"  {counted(part['pairs'], 'pair')} joined, {part['own']:,} of them without a twin; "
        f"{part['checked']:,} compared in full:"
    )
    _print_found(part)


def _print_found(part: dict[str, Any]) -> None:
    for limit, found in part["below"].items():
        typer.echo(f"    below {limit}: {_told(found)}")
    for one in part["worst"]:
        left, right = (one_line(name, 60) for name in one["ids"])
        typer.echo(f"    {one['similarity']:.3f}  {left}  |  {right}")


def _print_build(part: dict[str, Any] | None) -> None:
    if part is None:
        typer.echo(
            "  what the build itself removed was not compared: that takes a built corpus with"
        )
        typer.echo("  --keep-dropped, which has the texts")
        return
    typer.echo(
        f"  the build removed {counted(part['removed'], 'document')} as near copies; "
        f"{part['checked']:,} compared with the kept one ({part['without_text']:,} without text):"
    )
    _print_found(part)
