"""`seamount corpus`: build, check and describe text corpora."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from seamount.cli.corpus_audit import audit
from seamount.cli.corpus_dedupe_report import dedupe_report
from seamount.cli.corpus_download import download
from seamount.cli.corpus_exclude import exclude
from seamount.cli.corpus_find import find
from seamount.cli.corpus_tables import amount, print_components
from seamount.cli.corpus_tokenize import tokenize
from seamount.cli.corpus_trace import trace
from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core.errors import SeamountError, UserError
from seamount.core.wording import column, counted, one_line

_REASON_LENGTH = 120

_TITLES = (
    f"{'raw GiB':>8} {'eff. GiB':>8} {'documents':>11} {'mean KiB':>8} {'tok/byte':>7}  "
    f"{'kind':<15} licence"
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Build, check and describe text corpora.\n\n"
    "Example: seamount corpus build --source local --out runs/corpus",
)

app.command(cls=JsonCommand)(download)
app.command(cls=JsonCommand)(audit)
app.command("dedupe-report", cls=JsonCommand)(dedupe_report)
app.command(cls=JsonCommand)(find)
app.command(cls=JsonCommand)(trace)
app.command(cls=JsonCommand)(exclude)
app.command(cls=JsonCommand)(tokenize)

SourceOption = Annotated[
    list[str],
    typer.Option(
        "--source",
        help="URL of *.jsonl.zst, .jsonl.gz, .jsonl, .parquet, or `local`; repeatable.",
    ),
]


@app.command(cls=JsonCommand)
def build(
    source: SourceOption,
    out: Annotated[str, typer.Option(help="Folder or URL of the corpus.")],
    catalog: Annotated[str | None, typer.Option(help="Catalog: a name or a YAML file.")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 or 1: this one.")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the shuffle and the split, from 0 on.")] = 0,
    val_share: Annotated[float, typer.Option(help="Share of bytes held out as val.")] = 0.01,
    test_share: Annotated[float, typer.Option(help="Share of bytes held out as test.")] = 0.02,
    shard_bytes: Annotated[int, typer.Option(help="Text in a train shard, bytes.")] = 32 << 20,
    max_bytes: Annotated[int | None, typer.Option(help="Most text in the corpus, bytes.")] = None,
    dedupe: Annotated[
        str | None,
        typer.Option(
            help="Copies removed: near, exact or none (near, unless the catalog is as-is)."
        ),
    ] = None,
    keep_dropped: Annotated[bool, typer.Option(help="Store what was dropped, too.")] = False,
    allow_broken: Annotated[bool, typer.Option(help="Use what a broken file still gives.")] = False,
    dry_run: Annotated[
        bool, typer.Option(help="Only tell what it would read, keep and cost.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Turn sources into train, val and test shards with an account of every document.

    A build that was stopped goes on where it was; an unchanged corpus is reused.

    Example: seamount corpus build --source local --out runs/corpus --workers 2
    """
    from seamount.core import settings
    from seamount.corpora.text.build import CorpusRequest

    request = CorpusRequest(
        sources=tuple(source),
        out=out,
        catalog=catalog,
        seed=seed,
        workers=workers,
        scheduler=scheduler or settings.dask_scheduler(),
        val_share=val_share,
        test_share=test_share,
        shard_bytes=shard_bytes,
        max_bytes=max_bytes,
        dedupe=dedupe,  # type: ignore[arg-type]
        keep_dropped=keep_dropped,
        allow_broken=allow_broken,
    )
    if dry_run:
        from seamount.cli import corpus_dry_run

        corpus_dry_run.show(request, json_file)
    else:
        _build(request, json_file)


def _build(request: Any, json_file: str | None) -> None:
    from seamount.corpora.text.build import build_corpus
    from seamount.corpora.text.manifest import load_manifest

    reference = build_corpus(request)
    content = load_manifest(reference.url)
    result = {
        **asdict(reference),
        **{key: content[key] for key in ("splits", "components", "mixture", "alarms")},
        "ledger": content["ledger"]["total"],
    }
    if emit(result, json_file):
        return
    opened = counted(reference.shards_read, "input")
    read = "reused, 0 shards read" if reference.reused else f"{opened} read"
    typer.echo(f"{reference.url}: {amount(result)}, {read}")
    _print_ledger(result["ledger"], reference.url)
    for name, part in result["splits"].items():
        typer.echo(f"  {name:<6} {amount(part)}")
    print_components(result["components"], result["bytes"])
    _print_new_weights(result["mixture"])


def _print_new_weights(mixture: dict[str, Any]) -> None:
    """Where components of the catalog are missing, the weights of the others before and after."""
    before = {name: part["stated_weight"] or 0.0 for name, part in mixture.items()}
    after = {name: part["weight"] or 0.0 for name, part in mixture.items()}
    if not any(after.values()) or abs(sum(before.values()) - 1) < 1e-9:
        return
    there = sum(before.values())
    typer.echo(f"  weights, scaled to the components that are there ({there:.2%} of all):")
    for shown, name in zip(column(list(mixture)), mixture, strict=True):
        typer.echo(f"    {shown} {before[name]:>7.2%} -> {after[name]:>7.2%}")


def _print_ledger(total: dict[str, Any], url: str) -> None:
    from seamount.corpora.text.stages.publish import quarantined_by_reason

    typer.echo(f"  read   {amount(total['in'])}")
    rows = [
        *(("dropped", reason, part) for reason, part in total["dropped"].items()),
        *(("copies", kind, part) for kind, part in total["duplicates"].items()),
        *(("edited by", name, {"bytes": size}) for name, size in total["edited"].items()),
        *(("quarantined", why, vars(part)) for why, part in quarantined_by_reason(url).items()),
    ]
    for what, why, part in rows:
        if part.get("documents"):
            typer.echo(f"    {what} {one_line(why, _REASON_LENGTH)}: {amount(part)}")
        elif "documents" not in part:
            size = counted(part["bytes"], "byte")
            typer.echo(f"    {what} {one_line(why, _REASON_LENGTH)}: {size} taken away")


@app.command(cls=JsonCommand)
def check(
    urls: Annotated[
        list[str],
        typer.Argument(help="Files or folders (*.jsonl.zst, .jsonl.gz, .jsonl, .parquet)."),
    ],
    json_file: JsonOption = None,
) -> None:
    """Read every record; exit 1 if a file is broken (quarantined lines alone are not a failure).

    Exit 2 where nothing stands there, or something that does not even claim to be of such a form.

    Example: seamount corpus check corpus/train corpus/val.jsonl.zst --json report.json
    """
    from seamount.core import progress
    from seamount.corpora.text import check as checking

    if json_file is not None and json_file.endswith((".zst", ".gz")):
        raise UserError(f"--json {json_file} would overwrite data: put --json after the URLs")
    with progress.bar("corpus: check") as bar:
        result = checking.check(urls, report=lambda url: bar.advance(note=url))
    if not emit(result, json_file):
        for file in result["files"]:
            _print_checked(file)
    broken = [file for file in result["files"] if file["error"] is not None]
    if broken:
        verb = "is" if len(broken) == 1 else "are"
        raise SeamountError(
            f"{len(broken)} of {counted(len(result['files']), 'file')} {verb} broken"
        )


def _print_checked(file: dict[str, Any]) -> None:
    state = "broken" if file["error"] else "ok"
    bad = len(file["quarantined"])
    found = f"{counted(file['documents'], 'document')}, {bad} quarantined"
    typer.echo(f"{state:<6} {one_line(file['url'])}: {found}")
    for record in file["quarantined"]:
        typer.echo(f"         line {record['line']}: {one_line(record['reason'])}")
    if file["error"]:
        typer.echo(f"         {one_line(file['error'])}")


@app.command(cls=JsonCommand)
def catalog(
    name: Annotated[str, typer.Argument(help="Name in datasets/, or a YAML file.")] = "pile",
    json_file: JsonOption = None,
) -> None:
    """Print a catalog: components with weights, sizes, kinds and licences.

    Example: seamount corpus catalog local
    """
    from seamount.corpora.text.catalog import load_catalog

    found = load_catalog(name)
    if emit(found.model_dump(mode="json"), json_file):
        return
    typer.echo(f"{found.name}: {found.description}")
    weights = found.weights() or {}
    before = (load_catalog(found.extends).weights() or {}) if found.extends else weights
    title, *names = column(["component", *found.components])
    typer.echo(f"{title} {'weight':>7} {'before':>7} {'epochs':>6} {_TITLES}")
    for shown, (component, part) in zip(names, found.components.items(), strict=True):
        licence = f"{part.licence}; {part.takedown}" if part.takedown else part.licence
        typer.echo(
            f"{shown} {weights.get(component, 0):>7.2%} {before.get(component, 0):>7.2%} "
            f"{part.epochs:>6g} {_number(part.raw_gib, '.2f'):>8} "
            f"{_number(part.effective_gib, '.2f'):>8} {_number(part.documents, ','):>11} "
            f"{_number(part.mean_kib, '.2f'):>8} {_number(part.tokens_per_byte, '.4f'):>7}  "
            f"{part.kind:<15} {licence}"
        )
    if found.extends:
        typer.echo(f"before: the weights of the catalog {found.extends!r} it was made from")


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
