"""`seamount corpus exclude`: take documents out of a built corpus."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from seamount.cli.corpus_tables import amount
from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import column, counted, one_line

_SHOWN = 20


def exclude(
    url: Annotated[str, typer.Argument(help="A built corpus.")],
    component: Annotated[
        list[str] | None, typer.Option(help="A whole component; repeatable.")
    ] = None,
    id: Annotated[list[str] | None, typer.Option(help="A document's id; repeatable.")] = None,
    ids_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="Ids, one a line (UTF-8).")
    ] = None,
    match: Annotated[
        str | None, typer.Option(metavar="REGEX", help="All whose text this pattern is found in.")
    ] = None,
    repeat: Annotated[
        str | None, typer.Option(metavar="CORPUS", help="By all rules of another's history.")
    ] = None,
    look: Annotated[
        list[str] | None,
        typer.Option(help="Where token files and checkpoints lie; default: around the corpus."),
    ] = None,
    dry_run: Annotated[bool, typer.Option(help="Only tell what would go.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Rewrite only the shards that hold what is excluded; say what was made from it before.

    A command that was stopped is run again. Excluding again what is gone changes nothing.

    Example: seamount corpus exclude runs/corpus --component Books3 --dry-run

    Example: seamount corpus exclude runs/corpus --id 00:12 --id 00:13

    Example: seamount corpus exclude runs/corpus --match "jane\\.doe@example\\.org"
    """
    from seamount.corpora.text.takedown import exclude as excluding
    from seamount.corpora.text.takedown.rule import Rule

    given = (*(id or ()), *_lines(ids_file))
    if repeat is not None:
        if component or given or match is not None:
            raise UserError("--repeat stands alone: its rules are those of the other corpus")
        done = excluding.repeat(url, repeat, dry_run)
    else:
        rule = Rule(tuple(component or ()), given, match)
        done = [excluding.exclude(url, rule, dry_run)]
    results = [_result(one, look or []) for one in done]
    if not emit(results if repeat is not None else results[0], json_file):
        for result in results:
            _print(result)


def _lines(path: str | None) -> tuple[str, ...]:
    if path is None:
        return ()
    from seamount.core import storage

    try:
        text = storage.read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8 at byte {error.start}: give ids as text") from (
            error
        )
    return tuple(line.rstrip("\r") for line in text.split("\n") if line.strip())


def _result(done: Any, look: list[str]) -> dict[str, Any]:
    from dataclasses import asdict

    from seamount.corpora.text.takedown.witnesses import witnesses_of_exclusion
    from seamount.training.trace import judge_checkpoint

    seen = witnesses_of_exclusion(
        done.url, done.exclusion, done.removed_ids, look, judge_checkpoint
    )
    return {
        "url": done.url,
        "digest": done.digest,
        "dry_run": done.dry_run,
        "earlier": done.earlier,
        "exclusion": done.exclusion,
        "same_text": list(done.same_text),
        "copies": done.copies,
        "witnesses": [asdict(one) for one in seen],
    }


def _print(result: dict[str, Any]) -> None:
    entry = result["exclusion"]
    if entry is None:
        typer.echo(f"{one_line(result['url'])}: nothing is left there to exclude")
        return
    would = "would exclude" if result["dry_run"] else "excluded"
    would = "had already excluded" if result["earlier"] else would
    shards = counted(len(entry["shards"]), "shard")
    typer.echo(f"{one_line(result['url'])}: {would} {amount(entry)} in {shards}")
    names = list(entry["components"])
    for shown, name in zip(column(names), names, strict=True):
        typer.echo(f"  {shown} {amount(entry['components'][name])}")
    _print_weights(entry["mixture"])
    for name in result["same_text"][:_SHOWN]:
        typer.echo(f"  stays, with the same text as one that goes: {one_line(name)}")
    _print_copies(result["copies"])
    seen = result["witnesses"]
    typer.echo(f"  made from it before: {counted(len(seen), 'artefact')}")
    for one in seen:
        typer.echo(f"    {one['state']:<7} {one['kind']:<10} {one_line(one['path'])}")
        typer.echo(f"            {one_line(one['says'])}")


def _print_copies(copies: dict[str, Any] | None) -> None:
    """What a rebuild could bring in, since it was removed only in favour of what goes."""
    if copies is None:
        typer.echo("  which copies of it stand at the sources is unknown: this corpus does not say")
    elif copies["documents"]:
        typer.echo(f"  at the sources stand copies that the build had removed: {amount(copies)}")
        for name in (copies["ids"] or ())[:_SHOWN]:
            typer.echo(f"    {one_line(name)}")
        if copies["ids"] is not None:
            typer.echo("    a rebuild keeps them out if the exclusion is repeated (--repeat)")


def _print_weights(mixture: dict[str, Any]) -> None:
    title, *names = column(["component", *mixture])
    typer.echo(f"  {title} {'share':>8} -> {'after':>8}   {'weight':>8} -> {'after':>8}")
    for shown, part in zip(names, mixture.values(), strict=True):
        shares = " -> ".join(f"{share:.2%}".rjust(8) for share in part["share"])
        weights = " -> ".join(
            ("-" if weight is None else f"{weight:.2%}").rjust(8) for weight in part["weight"]
        )
        typer.echo(f"  {shown} {shares}   {weights}")
