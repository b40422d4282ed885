"""`seamount corpus audit`: what a corpus is composed of, and what its rules took away."""

from __future__ import annotations

from typing import Annotated

import typer

from seamount.cli.corpus_tables import amount, print_components
from seamount.cli.json_output import JsonOption, emit
from seamount.core.wording import one_line


def audit(
    url: Annotated[str, typer.Argument(help="A built corpus, or files of *.jsonl.zst.")],
    dropped: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Show N documents that each rule dropped or edited."),
    ] = None,
    json_file: JsonOption = None,
) -> None:
    """Composition by component, and how evenly the bytes are spread.

    Example: seamount corpus audit runs/corpus

    Example: seamount corpus audit runs/corpus --dropped 3   (built with --keep-dropped)
    """
    if dropped is not None:
        _show_dropped(url, dropped, json_file)
        return
    from seamount.corpora.text.audit.composition import audit as audited

    result = audited(url)
    if emit(result, json_file):
        return
    typer.echo(f"{one_line(url)}: {amount(result)}")
    print_components(result["components"], result["bytes"])
    effective, count = result["effective_components"], len(result["components"])
    typer.echo(f"  effective number of components: {effective:.2f} of {count}")


def _show_dropped(url: str, per_rule: int, json_file: str | None) -> None:
    from seamount.corpora.text.audit.dropped import as_text, sample_dropped

    samples = sample_dropped(url, per_rule)
    if not emit(samples, json_file):
        typer.echo(as_text(samples))
