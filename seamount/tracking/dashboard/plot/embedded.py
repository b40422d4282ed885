"""What a picture says of itself: the view it shows, and of which data.

Within a PNG it is the iTXt chunk `seamount`, within an SVG an element in <metadata>; both hold this
as JSON. Whoever reads it takes the file for hostile: the form is strict and bounded.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from seamount.core.errors import CorruptData
from seamount.core.wording import one_line
from seamount.tracking.dashboard.charts.chart import Chart
from seamount.tracking.dashboard.charts.digest import joint_digest
from seamount.tracking.dashboard.spec import MAX_CHARTS, ChartSpec, Number, Smoothing, ViewSpec
from seamount.tracking.store import folder

MAX_BYTES = 1 << 20
_LISTED = 2_000  # strands of a picture; beyond, only the digest of all is kept

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")]
Name = Annotated[str, Field(max_length=1_100)]
Span = tuple[Number, Number] | None


class _Form(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class StrandData(_Form):
    """One strand: its points up to x `last`, and their digest."""

    run_id: RunId
    metric: Name
    rank: int
    points: int
    last: Number | None
    sha256: Sha256


class ChartData(_Form):
    """What one chart of the view was drawn from; `paths` are the metrics' names."""

    digest: Sha256
    run_ids: Annotated[tuple[RunId, ...], Field(max_length=1_000)]
    paths: Annotated[tuple[Name, ...], Field(max_length=1_000)]
    x: Name
    smoothing: Smoothing
    x_extent: Span = None
    steps: Span = None
    strands: Annotated[tuple[StrandData, ...], Field(max_length=_LISTED)] | None = None


class Embedded(_Form):
    """What is in the file. `digest` is that of all charts' digests."""

    seamount: Literal[1]
    software: Name
    title: Annotated[str, Field(max_length=2_000)]
    created: Annotated[str, Field(max_length=40)]
    source: Annotated[str, Field(max_length=1 << 19)]
    store_version: int
    projects: Annotated[tuple[Name, ...], Field(max_length=1_000)]
    digest: Sha256
    view: ViewSpec
    charts: Annotated[tuple[ChartData, ...], Field(max_length=MAX_CHARTS)]


def describe(
    view: ViewSpec, charts: list[Chart], title: str, created: str, source: str
) -> Embedded:
    """The description of a picture of `charts`, which are the view's."""
    from seamount import __version__

    listed = sum(len(chart.strands) for chart in charts) <= _LISTED
    return Embedded(
        seamount=1, software=f"seamount {__version__}", title=title[:2_000], created=created,
        source=source, store_version=folder.VERSION,
        projects=tuple(sorted({name for chart in charts for name in chart.projects})),
        digest=joint_digest(chart.digest for chart in charts), view=view,
        charts=tuple(_chart(chart, listed=listed) for chart in charts),
    )  # fmt: skip


def _chart(chart: Chart, *, listed: bool) -> ChartData:
    spans = [each.steps for each in chart.strands if each.steps is not None]
    strands = tuple(
        StrandData(
            run_id=each.run_id, metric=each.metric, rank=each.rank, points=each.points,
            last=each.last, sha256=each.sha256,
        )
        for each in chart.strands
    )  # fmt: skip
    return ChartData(
        digest=chart.digest, run_ids=tuple(chart.run_ids),
        paths=tuple(dict.fromkeys(each.metric for each in chart.strands)),
        x=chart.spec.x, smoothing=chart.spec.smoothing, x_extent=chart.x_extent,
        steps=(min(a for a, _ in spans), max(b for _, b in spans)) if spans else None,
        strands=strands if listed else None,
    )  # fmt: skip


def chart_spec(embedded: Embedded, place: int) -> ChartSpec:
    """The spec of a chart with the very runs that were drawn, whatever the view would select."""
    spec = embedded.view.charts[place]
    only = spec.runs.model_copy(
        update={"ids": embedded.charts[place].run_ids, "where": None, "search": None,
                "project": None}
    )  # fmt: skip
    return spec.model_copy(update={"runs": only})


def to_text(embedded: Embedded) -> str:
    """As JSON; raises ValueError where it is too long."""
    values = embedded.model_dump(mode="json") | {
        "view": embedded.view.model_dump(mode="json", exclude_defaults=True)
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def from_text(text: str) -> Embedded:
    """What `to_text` made; raises CorruptData."""
    try:
        found = Embedded.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        place = one_line(".".join(map(str, first["loc"])), 80)
        raise CorruptData(
            f"the picture's description is damaged ({place or 'its JSON'}: "
            f"{one_line(first['msg'], 120)}): draw it again with `seamount track plot`"
        ) from error
    if len(found.charts) != len(found.view.charts):
        raise CorruptData("the picture's description is damaged: its charts are not its view's")
    return found
