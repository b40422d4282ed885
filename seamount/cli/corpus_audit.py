"""`seamount corpus audit`: what a corpus is composed of, holds, and what its rules took away."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.corpus_tables import amount
from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import column, counted, one_line

_PASSAGE = 110


def audit(
    url: Annotated[str, typer.Argument(help="A built corpus, or files of any form.")],
    dropped: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Show N documents that each rule dropped or edited."),
    ] = None,
    tokens: Annotated[
        str | None, typer.Option(help="Token folder of this corpus: counts, not estimates.")
    ] = None,
    decades: Annotated[
        bool, typer.Option(help="Count by decade, which reads the shards' metadata.")
    ] = True,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE.svg|.html", help="Draw the composition.")
    ] = None,
    contamination: Annotated[
        list[str] | None,
        typer.Option(metavar="BENCHMARK", help="Overlap with a .jsonl, .json, .txt; repeatable."),
    ] = None,
    ngram: Annotated[int, typer.Option(min=1, max=100, help="Words that must agree.")] = 13,
    worst: Annotated[int, typer.Option(min=0, help="Documents shown.")] = 10,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="The train document nearest to each held-out one.")
    ] = False,
    bias: Annotated[
        str | None, typer.Option(metavar="WORDLIST", help="Co-occurrence of words (YAML).")
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Composition by component, kind, decade and tokens, and how evenly the bytes are spread.

    With --contamination, --leaks, --bias or --dropped another report; none changes the corpus.

    Example: seamount corpus audit runs/corpus --plot audit.svg

    Example: seamount corpus audit runs/corpus --dropped 3   (built with --keep-dropped)

    Example: seamount corpus audit runs/corpus --contamination arc.jsonl --contamination gsm8k.jsonl

    Example: seamount corpus audit runs/corpus --leaks

    Example: seamount corpus audit runs/corpus --bias occupations.yaml
    """
    if sum(x is not None for x in (dropped, contamination, bias, leaks or None)) > 1:
        raise UserError(
            "--dropped, --contamination, --leaks and --bias are reports of their own: give one"
        )
    if dropped is not None:
        _show_dropped(url, dropped, json_file)
    elif contamination is not None:
        _show_contamination(url, contamination, ngram, worst, json_file)
    elif leaks:
        _show_leaks(url, worst, json_file)
    elif bias is not None:
        _show_bias(url, bias, json_file)
    else:
        _show_composition(url, tokens, decades, plot, json_file)


def _show_composition(
    url: str, tokens: str | None, decades: bool, plot: str | None, json_file: str | None
) -> None:
    from seamount.corpora.text.audit import pictures
    from seamount.corpora.text.audit.composition import audit as audited

    if plot is not None:
        pictures.check_name(plot)
    result = audited(url, decades=decades, tokens=tokens)
    if plot is not None:
        pictures.write(result, plot)
    if emit(result, json_file):
        return
    typer.echo(f"{one_line(url)}: {amount(result)}")
    _print_parts(result)
    for name, part in result["effective"].items():
        before = "" if part["before"] is None else f" ({part['before']:.2f} before mixing)"
        count = f" of {len(result['components'])}" if name == "components" else ""
        typer.echo(f"  effective number of {name}: {part['after']:.2f}{count}{before}")
    if plot is not None:
        typer.echo(f"  drawn: {one_line(plot)}")


def _print_parts(result: dict[str, Any]) -> None:
    components, total = result["components"], max(1, result["bytes"])
    title, *names = column(["component", *components])
    typer.echo(f"  {title} {'documents':>10} {'bytes':>14} {'share':>7} {'tokens':>13}  kind")
    for shown, part in zip(names, components.values(), strict=True):
        tokens = "" if part["tokens"] is None else f"{part['tokens']:,}"
        typer.echo(
            f"  {shown} {part['documents']:>10,} {part['bytes']:>14,} {part['share']:>7.2%} "
            f"{tokens:>13}  {_told(part['kind'], '')[:20]}"
        )
    tokens, left_out = result["tokens"], result["tokens"].get("unknown_bytes")
    also = f" ({left_out:,} bytes of components without one left out)" if left_out else ""
    typer.echo(f"  tokens: {tokens['total']:,}, {tokens['method']}{also}")
    for what, parts in (("kind", result["kinds"]), ("decade", result["decades"] or {})):
        names = column([_told(name, f"no {what} told") for name in parts])
        for shown, part in zip(names, parts.values(), strict=True):
            share = part["bytes"] / total
            typer.echo(
                f"  {what:<6} {shown} {part['documents']:>10,} {part['bytes']:>14,} {share:>7.2%}"
            )


def _told(name: str, otherwise: str) -> str:
    return otherwise if name == "unknown" else one_line(name)


def _show_contamination(
    url: str, benchmarks: list[str], ngram: int, worst: int, json_file: str | None
) -> None:
    from seamount.corpora.text.audit.contamination import contamination

    result = contamination(url, benchmarks, ngram, worst)
    if emit(result, json_file):
        return
    touched, words = result["touched"], f"{ngram} words in a row"
    typer.echo(f"{one_line(url)}: {amount(touched)} share {words} with a benchmark (none dropped)")
    components = result["components"]
    for shown, part in zip(column(list(components)), components.values(), strict=True):
        share = part["bytes"] / max(1, part["bytes_of"])
        passages = counted(part["passage_bytes"], "byte")
        typer.echo(f"  {shown} {amount(part)} ({share:.2%}), {passages} in passages")
    for name, part in result["benchmarks"].items():
        short = f", {part['too_short']} items are too short to be found"
        found = counted(part["documents"], "document")
        typer.echo(f"  {one_line(name, 60)}: in {found}{short if part['too_short'] else ''}")
    for one in result["worst"]:
        where = f"{one_line(one['shard'])} line {one['line']}"
        typer.echo(f"  {one_line(one['id'], 60)}, {where}: {one['passage_bytes']:,} bytes")
        for passage in one["passages"]:
            text = one_line(passage["text"], _PASSAGE)
            typer.echo(f"    {one_line(passage['benchmark'], 40)}: {text}")


def _show_leaks(url: str, worst: int, json_file: str | None) -> None:
    from seamount.core import progress
    from seamount.corpora.text.audit.leaks import leaks

    with progress.bar("corpus: leaks") as bar:
        result = leaks(url, worst, bar.advance)
    if emit(result, json_file):
        return
    held = ", ".join(f"{name} {count:,}" for name, count in result["held_out"].items())
    typer.echo(f"{one_line(url)}: {held}, each with the nearest of {result['train']:,} in train")
    typer.echo(f"  {counted(result['exact'], 'document')} with the very text of one in train")
    title, *names = column(["component", *result["components"]])
    bins = [f"{part['low']:g}-{part['high']:g}" for part in result["bins"]]
    typer.echo(f"  {title} {''.join(name.rjust(8) for name in bins)}")
    for shown, counts in zip(names, result["components"].values(), strict=True):
        typer.echo(f"  {shown} {''.join(f'{n:,}'.rjust(8) for n in counts)}")
    total = [f"{part['documents']:,}".rjust(8) for part in result["bins"]]
    typer.echo(f"  {'all':<{len(title)}} {''.join(total)}")
    for one in result["worst"]:
        about = "" if one["exact"] else " (estimated)"
        places = (_placed(one[side]) for side in ("held_out", "train"))
        typer.echo(f"  {one['similarity']:.3f}{about}  {'  |  '.join(places)}")


def _placed(place: dict[str, Any]) -> str:
    where = f"{one_line(place['shard'])} line {place['line']}"
    return f"{one_line(place['id'], 60)} ({one_line(place['component'], 30)}), {where}"


def _show_bias(url: str, path: str, json_file: str | None) -> None:
    from seamount.corpora.text.audit.bias import bias, read_words

    result = bias(url, read_words(path))
    if emit(result, json_file):
        return
    typer.echo(f"{one_line(url)}: {result['method']}; window {result['window']} words")
    for name, part in [("all", result["all"]), *result["components"].items()]:
        typer.echo(f"  {one_line(name, 40)}: {counted(part['words'], 'word')}")
        for target, groups in part["pairs"].items():
            told = ", ".join(
                f"{one_line(g, 20)} {v['count']:,}"
                + ("" if v["lift"] is None else f" (x{v['lift']:.2f})")
                for g, v in groups.items()
            )
            typer.echo(
                f"    {one_line(target, 30):<20} {part['targets'][target]:>8,}  near: {told}"
            )


def _show_dropped(url: str, per_rule: int, json_file: str | None) -> None:
    from seamount.corpora.text.audit.dropped import as_text, sample_dropped

    samples = sample_dropped(url, per_rule)
    if not emit(samples, json_file):
        typer.echo(as_text(samples))
