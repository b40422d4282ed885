"""`seamount track plot | open`: charts as pictures, and what a picture shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seamount.cli.json_output import JsonOption, emit
from seamount.cli.track_find import ProjectOption, SearchOption, StoreOption, WhereOption
from seamount.core.errors import SeamountError, UserError
from seamount.core.wording import one_line

if TYPE_CHECKING:
    from seamount.tracking.dashboard.spec import ViewSpec

_URL = "http://127.0.0.1:5000"


def plot(
    out: Annotated[Path, typer.Option(help="File to write, .png or .svg.")],
    metric: Annotated[
        str | None, typer.Option(help="Extended regex over metric names; a chart for each match.")
    ] = None,
    runs: Annotated[str | None, typer.Option(help="Extended regex over run names.")] = None,
    run_id: Annotated[
        list[str] | None, typer.Option("--run-id", help="This run only (repeatable).")
    ] = None,
    project: ProjectOption = None,
    where: WhereOption = None,
    search: SearchOption = None,
    view: Annotated[
        str | None, typer.Option(help="A page's address, or a JSON file: draw its charts.")
    ] = None,
    x: Annotated[str, typer.Option(help="step, time, relative or metric:NAME.")] = "step",
    x_scale: Annotated[str, typer.Option(help="linear, log or symlog.")] = "linear",
    y_scale: Annotated[str, typer.Option(help="linear, log or symlog.")] = "linear",
    x_range: Annotated[str | None, typer.Option(help="LOW:HIGH.")] = None,
    y_range: Annotated[str | None, typer.Option(help="LOW:HIGH.")] = None,
    smooth: Annotated[
        str | None, typer.Option(help="0.9 or ema:0.9, time_ema:SECONDS, mean:N, median:N.")
    ] = None,
    group_by: Annotated[
        list[str] | None, typer.Option(help="Mean of runs that share this attribute (repeatable).")
    ] = None,
    band: Annotated[str, typer.Option(help="Around a mean: none, minmax or std.")] = "minmax",
    ranks: Annotated[str, typer.Option(help="first, strands (a line each) or mean.")] = "first",
    together: Annotated[bool, typer.Option("--together", help="All metrics in one chart.")] = False,
    baseline: Annotated[str | None, typer.Option(help="Run id drawn dashed beside them.")] = None,
    title: Annotated[str | None, typer.Option(help="Title above the charts.")] = None,
    size: Annotated[str, typer.Option(help="Pixels of one chart.")] = "900x500",
    scale: Annotated[float, typer.Option(help="PNG pixels to one of those.")] = 2.0,
    dark: Annotated[bool, typer.Option("--dark", help="Light lines on dark paper.")] = False,
    url: Annotated[str, typer.Option(help="Dashboard that the picture's link leads to.")] = _URL,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Draw metrics of runs as a PNG or SVG that says within it what it shows.

    Example: seamount track plot --project demo --metric "^loss$" --smooth 0.9 --out loss.png
    """
    from seamount.core import storage
    from seamount.core.errors import explain_os_error
    from seamount.tracking.dashboard.plot.files import picture_file
    from seamount.tracking.dashboard.plot.picture import Look

    if (metric is None) == (view is None):
        raise UserError("give --metric or --view, one of them")
    kind = out.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise UserError(f"--out {str(out)!r} must end in .png or .svg")
    chart: dict[str, Any] = {
        "metrics": metric, "split": not together, "x": x, "x_scale": x_scale, "y_scale": y_scale,
        "x_range": _range(x_range, "--x-range"), "y_range": _range(y_range, "--y-range"),
        "smoothing": _smoothing(smooth), "group_by": group_by or [], "band": band, "ranks": ranks,
        "runs": {"where": _by_name(where, runs), "search": search, "project": project,
                 "ids": run_id},
    }  # fmt: skip
    wanted = _view(view) if view is not None else _view_of(chart, baseline)
    look = Look(_size(size), scale, dark)
    made = picture_file(wanted, kind, look, store=store, base=url, title=title)
    try:
        storage.write_bytes(str(out), made.content)
    except OSError as error:
        raise explain_os_error(error, f"writing {out}") from error
    notes = list(dict.fromkeys(note for each in made.charts for note in each.notes))
    lines = sum(len(each.lines) for each in made.charts)
    result = {"path": str(out), "bytes": len(made.content), "lines": lines, "notes": notes,
              "digest": made.embedded.digest, "url": made.embedded.source}  # fmt: skip
    if not emit(result, json_file):
        typer.echo(f"{out}  {lines} lines, data {made.embedded.digest[:12]}")
        for note in notes:
            typer.echo(note, err=True)


def open_picture(
    picture: Annotated[str, typer.Argument(help="A .png or .svg that seamount made.")],
    url: Annotated[str, typer.Option(help="Dashboard that the link leads to.")] = _URL,
    store: StoreOption = None,
    json_file: JsonOption = None,
) -> None:
    """Say what a picture shows and whether the store still holds the same; exit 1 if not.

    Example: seamount track open loss.png
    """
    from seamount.core import storage
    from seamount.tracking.dashboard.plot import metadata
    from seamount.tracking.dashboard.plot.matching import match
    from seamount.tracking.dashboard.spec import page_url

    if storage.size_bytes(picture) > metadata.MAX_FILE_BYTES:
        raise UserError(f"{picture} is larger than {metadata.MAX_FILE_BYTES:,} bytes: no picture")
    found = metadata.read(storage.read_bytes(picture))
    verdict = match(found, store)
    link = page_url(found.view, url)  # never the one in the file: whoever made it chose that
    result = found.model_dump(mode="json") | {
        "view": found.view.model_dump(mode="json", exclude_defaults=True), "url": link,
        "state": verdict.state, "digest_now": verdict.digest, "details": verdict.details,
    }  # fmt: skip
    if not emit(result, json_file):
        _show(result)
    if not verdict.same:
        details = "; ".join(verdict.details) or "its data differ"
        raise SeamountError(f"{one_line(picture)} is not what the store holds now: {details}")


def _show(found: dict[str, Any]) -> None:
    typer.echo(f"{one_line(found['title'], 200)}  (drawn {one_line(found['created'])})")
    typer.echo(f"projects {one_line(', '.join(found['projects']), 200)}")
    for spec, data in zip(found["view"].get("charts", []), found["charts"], strict=True):
        runs = data["run_ids"]
        some = ", ".join(runs[:5]) + (f" and {len(runs) - 5} more" if len(runs) > 5 else "")
        typer.echo(f"chart    {one_line(spec['metrics'], 80)} of {len(runs)} runs: {some}")
        if data["steps"]:
            typer.echo(f"steps    {data['steps'][0]:.15g} to {data['steps'][1]:.15g}")
    typer.echo(f"data     {found['digest']}  ({found['state']})")
    for text in found["details"]:
        typer.echo(f"         {one_line(text, 200)}")
    typer.echo(f"page     {one_line(found['url'])}")


def _view(text: str) -> ViewSpec:
    """The view of a page's address, of what stands behind `view=` there, or of a JSON file."""
    from urllib.parse import parse_qs, urlsplit

    from seamount.core import storage
    from seamount.tracking.dashboard.spec import MAX_JSON_BYTES, ViewSpec, from_query, read_spec

    if "view=" in text:
        parts = urlsplit(text)
        found = parse_qs(parts.query or parts.fragment.partition("?")[2]).get("view")
        if not found:
            raise UserError(
                f"--view {text[:80]!r} holds no view: copy the whole address of the page"
            )
        return from_query(ViewSpec, found[0])
    if Path(text).is_file():
        if storage.size_bytes(text) > MAX_JSON_BYTES:
            raise UserError(f"--view {text[:80]!r} is larger than {MAX_JSON_BYTES:,} bytes")
        return read_spec(ViewSpec, storage.read_bytes(text))
    return from_query(ViewSpec, text)


def _view_of(chart: dict[str, Any], baseline: str | None) -> ViewSpec:
    from seamount.tracking.dashboard.spec import ViewSpec, read_spec

    return read_spec(ViewSpec, {"page": "charts", "charts": [chart], "baseline": baseline})


def _by_name(where: str | None, runs: str | None) -> str | None:
    """One filter of a filter and a regex over names."""
    from seamount.tracking.query.filter_parser import parse_filter
    from seamount.tracking.query.filters import attribute

    if runs is None:
        return where
    named = attribute("name").matches(runs)
    return str(named if where is None else parse_filter(where) & named)


def _range(text: str | None, option: str) -> list[float] | None:
    if text is None:
        return None
    low, colon, high = text.partition(":")
    try:
        if colon:
            return [float(low), float(high)]
    except ValueError:
        pass
    raise UserError(f"{option} {text[:80]!r} must be two numbers, LOW:HIGH")


def _smoothing(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    kind, colon, amount = text.partition(":") if ":" in text else ("ema", ":", text)
    key = {"ema": "weight", "time_ema": "half_life", "mean": "window", "median": "window"}.get(kind)
    try:
        if key and colon:
            return {"kind": kind, key: int(amount) if key == "window" else float(amount)}
    except ValueError:
        pass
    raise UserError(
        f"--smooth {text[:80]!r} is none of 0.9, ema:0.9, time_ema:SECONDS, mean:N and median:N"
    )


def _size(text: str) -> tuple[int, int]:
    across, _, down = text.lower().partition("x")
    if across.isascii() and across.isdecimal() and down.isascii() and down.isdecimal():
        return int(across[:9]), int(down[:9])
    raise UserError(f"--size {text[:40]!r} must be WIDTHxHEIGHT in pixels, such as 900x500")
