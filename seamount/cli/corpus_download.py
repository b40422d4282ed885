"""`seamount corpus download`: files of a corpus from their mirrors."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core.wording import counted, one_line

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command(cls=JsonCommand)
def download(
    out: Annotated[str, typer.Option(help="Folder for the files.")],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="URL|LIST...",
            help="URL of a file, an s3:// folder, a mirror list (.yaml, .json), or `pile`.",
        ),
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option(help="Mirror of every file of the lists; repeatable. Alone it means `pile`."),
    ] = None,
    sha256sums: Annotated[
        str | None, typer.Option(metavar="FILE", help="Digests as sha256sum writes them.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=64, help="Files fetched at a time.")] = 4,
    retries: Annotated[
        int, typer.Option(min=0, max=1000, help="Failures in a row before a source is given up.")
    ] = 8,
    timeout_s: Annotated[
        float, typer.Option(min=0.1, max=3600, help="Silence after which a source is asked anew.")
    ] = 30.0,
    check_zstd: Annotated[
        bool, typer.Option(help="Read .zst files without a digest to their end.")
    ] = True,
    dry_run: Annotated[bool, typer.Option(help="Only list what would be fetched.")] = False,
    json_file: JsonOption = None,
) -> None:
    """Fetch files: resumed after any stop, checked by size and digest, never half under a name.

    Run the same command again after a failure or a kill: it goes on where it was.

    Example: seamount corpus download pile --base-url https://mirror.example/pile --out data/pile
    """
    from seamount.corpora.text.download.listing import read_files
    from seamount.corpora.text.download.request import DownloadRequest, RetryPolicy

    files = read_files(sources or [], base_url or [], sha256sums)
    retry = RetryPolicy(retries=retries, timeout_s=timeout_s)
    request = DownloadRequest(files, out, jobs=jobs, check_zstd=check_zstd, retry=retry)
    (_show_plan if dry_run else _download)(request, json_file)


def _show_plan(request: Any, json_file: str | None) -> None:
    from seamount.core.progress import amount
    from seamount.corpora.text.download.addresses import shown
    from seamount.corpora.text.download.download import plan

    planned = plan(request)
    rows = [
        {
            "path": one.file.path,
            "size_bytes": one.size_bytes,
            "here_bytes": one.here_bytes,
            "sha256": one.file.sha256,
            "urls": [shown(url) for url in one.file.urls],
        }
        for one in planned.files
    ]
    result = {
        "files": rows,
        "missing_bytes": planned.missing_bytes,
        "free_bytes": planned.free_bytes,
    }
    if emit(result, json_file):
        return
    for one in planned.files:
        size = "size unknown" if one.size_bytes is None else amount(one.size_bytes)
        here = f", {amount(one.here_bytes)} here" if one.here_bytes else ""
        sources = counted(len(one.file.urls), "source")
        typer.echo(f"{size:>12}  {one_line(one.file.path)}  ({sources}{here})")
    free = "" if planned.free_bytes is None else f", {amount(planned.free_bytes)} free"
    typer.echo(f"{counted(len(rows), 'file')}, {amount(planned.missing_bytes)} to fetch{free}")


def _download(request: Any, json_file: str | None) -> None:
    from seamount.core.progress import amount
    from seamount.corpora.text.download.download import download as fetched

    reference = fetched(request)
    rows = [{**asdict(one), "bytes_per_s": one.bytes_per_s} for one in reference.files]
    if emit({**asdict(reference), "files": rows}, json_file):
        return
    for one in reference.files:
        came = "stood already" if one.reused else f"{amount(one.bytes_per_s)}/s"
        tried = f", {counted(one.retries, 'retry').replace('retrys', 'retries')}"
        proven = f"checked by {one.checked}" if one.checked != "nothing" else "nothing to check by"
        told = f"{came}{tried if one.retries else ''}, {proven}"
        typer.echo(f"{amount(one.size_bytes):>12}  {one_line(one.path)}  ({told})")
    total = f"{counted(len(rows), 'file')}, {amount(reference.size_bytes)}"
    typer.echo(f"{reference.url}: {total}, {amount(reference.fetched_bytes)} fetched")
