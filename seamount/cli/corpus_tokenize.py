"""`seamount corpus tokenize`: token files of a built corpus, for training here or anywhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.core.wording import counted, one_line


def tokenize(
    corpus: Annotated[str, typer.Argument(help="A built corpus.")],
    tokenizer: Annotated[
        str,
        typer.Option(
            metavar="X", help="Folder with tokenizer.json, such a file, or a Hugging Face name."
        ),
    ],
    out: Annotated[str, typer.Option(help="Local folder for the token files.")],
    split: Annotated[str, typer.Option(help="train, val, test or all.")] = "all",
    prefix_token: Annotated[
        str | None,
        typer.Option(
            metavar="STR", help="Opens each document. Default: BOS, else EOS, else <|endoftext|>."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0 or 1: this one.")] = 0,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler.")] = None,
    flow: Annotated[bool, typer.Option("--flow", help="Run it as a Prefect flow.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell how many tokens and bytes it would make.")
    ] = False,
    json_file: JsonOption = None,
) -> None:
    """Encode splits into flat files of token ids that numpy reads as they stand.

    The ids are those of the tokenizers library. A stopped run goes on where it was; what is
    unchanged is reused.

    Example: seamount corpus tokenize runs/corpus --tokenizer runs/tokenizer --out runs/tokens

    Example: seamount corpus tokenize runs/corpus --tokenizer openai-community/gpt2 --out runs/gpt2
    """
    from seamount.core import settings
    from seamount.corpora.text import tokenizing

    if flow and not dry_run:
        _run_flow(corpus, tokenizer, out, split, prefix_token, workers, scheduler, json_file)
        return
    request = tokenizing.TokenizeRequest(
        corpus=corpus,
        tokenizer=tokenizer,
        out=out,
        splits=tokenizing.splits_of(corpus, split),
        workers=workers,
        scheduler=scheduler or settings.dask_scheduler(),
        prefix_token=prefix_token,
    )
    (_show_prediction if dry_run else _tokenize)(request, json_file)


def _run_flow(
    corpus: str,
    tokenizer: str,
    out: str,
    split: str,
    prefix_token: str | None,
    workers: int,
    scheduler: str | None,
    json_file: str | None,
) -> None:
    from pathlib import Path

    from seamount.cli.flow_run import run_flow

    if Path(tokenizer).exists():  # the same in every folder a flow may work in
        tokenizer = str(Path(tokenizer).absolute())
    options = {
        "split": split,
        "prefix_token": prefix_token,
        "workers": workers,
        "scheduler": scheduler,
    }
    parameters = {"corpus": corpus, "tokenizer": tokenizer, "out": out, "options": options}
    result = run_flow("tokenize_corpus", parameters)
    if not emit(result, json_file):
        facts = ", ".join(f"{name} {count:,} tokens" for name, count in result["facts"].items())
        typer.echo(f"{result['path']}: {facts}")


def _tokenize(request: Any, json_file: str | None) -> None:
    from seamount.corpora.text.tokenizing import tokenize_corpus

    found = tokenize_corpus(request)
    splits = {one.split: {**asdict(one), "megabytes_per_s": one.megabytes_per_s} for one in found}
    result = {"out": request.out, "corpus": request.corpus, "splits": splits}
    if emit(result, json_file):
        return
    for one in found:
        size = f"{counted(one.documents, 'document')}, {counted(one.size_bytes, 'byte')}"
        how = "reused" if one.reused else f"{one.megabytes_per_s:.1f} MB/s, {_shards(one.shards)}"
        typer.echo(f"  {one.split:<6} {size} -> {counted(one.tokens, 'token')} ({how})")
    _print_encoding(
        found[0].encoding, sum(o.encoding.get("documents_by_library", 0) for o in found)
    )
    typer.echo(f"{one_line(request.out)}: {counted(sum(o.tokens for o in found), 'token')}")


def _shards(count: dict[str, int]) -> str:
    done = counted(count["done"], "shard")
    return f"{done}, {count['reused']} done before" if count["reused"] else done


def _print_encoding(encoding: dict[str, Any], by_library: int) -> None:
    if not encoding:  # written before encodings were noted
        return
    typer.echo(f"  encoded by the {encoding['encoded_by']}: {one_line(encoding['why'])}")
    if encoding["encoded_by"] == "compiled pass" and by_library:
        typer.echo(f"  {counted(by_library, 'document')} with added tokens left to the library")


def _show_prediction(request: Any, json_file: str | None) -> None:
    from seamount.core.progress import amount
    from seamount.corpora.text.tokenizing import predict

    result = predict(request)
    if emit(result, json_file):
        return
    name, opens = one_line(result["tokenizer"]), one_line(repr(result["prefix_token"]))
    typer.echo(f"{name}: {result['vocab_size']:,} ids, documents open with {opens}")
    _print_encoding(result, 0)
    for split, part in result["splits"].items():
        size = f"{counted(part['documents'], 'document')}, {counted(part['bytes'], 'byte')}"
        about = f"about {part['tokens']:,} tokens, {amount(part['file_bytes'])}"
        typer.echo(f"  {split:<6} {size} -> {about}")
    sample = counted(result["sample"]["bytes"], "byte")
    typer.echo(f"about {result['hours'] * 3600:,.1f} s of CPU time, from a sample of {sample}")
