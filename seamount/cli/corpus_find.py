"""`seamount corpus find`: documents by id or by text."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Annotated

import typer

from seamount.cli.corpus_tables import print_removed
from seamount.cli.json_output import JsonOption, emit
from seamount.core.errors import UserError
from seamount.core.wording import counted, one_line

_NAME, _EXCERPT = 80, 160


def find(
    query: Annotated[str, typer.Argument(metavar="ID|TEXT", help="What to look for.")],
    url: Annotated[str, typer.Argument(help="A built corpus, or files of any form.")],
    by: Annotated[
        str,
        typer.Option(
            help="id, prefix or regex of ids; text, words of texts; auto: the id, else the text."
        ),
    ] = "auto",
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Most documents shown.")] = 20,
    json_file: JsonOption = None,
) -> None:
    """Find documents: component, id, source, shard, line and an excerpt; exit 1 if there is none.

    Ids are looked up without reading shards; text is searched in all of them, in bounded memory.
    An id that the build removed as a copy is told with the document that stands for it.

    Example: seamount corpus find 00:12 runs/corpus

    Example: seamount corpus find "jane.doe@example.org" runs/corpus --by text -i
    """
    from seamount.corpora.text.takedown import find as finding

    if by not in finding.KINDS:
        raise UserError(f"--by is {by!r}: one of {', '.join(finding.KINDS)}")
    matches = finding.find(url, query, by, ignore_case)
    found = list(islice(matches, limit))
    more = next(matches, None) is not None if len(found) == limit else False
    removed = list(islice(finding.removed(url, query, by, ignore_case), limit))
    result = {
        "query": query,
        "by": by,
        "matches": [asdict(one) for one in found],
        "more": more,
        "removed": removed,
    }
    if not emit(result, json_file):
        for one in found:
            _print(one)
        for copy in removed:
            print_removed(copy)
        told = counted(len(found), "document")
        typer.echo(f"{told}, and more: raise --limit" if more else told)
    if not found:
        raise typer.Exit(1)


def _print(one: object) -> None:
    shown = {key: one_line(value) for key, value in asdict(one).items()}  # type: ignore[call-overload]
    typer.echo(f"{one_line(shown['id'], _NAME)}  ({shown['component'][:_NAME]})")
    where = f"{shown['shard']} line {shown['line']}"
    typer.echo(f"  {where}, {counted(int(shown['bytes']), 'byte')}, from {shown['source']}")
    typer.echo(f"  {one_line(shown['excerpt'], _EXCERPT)}")
