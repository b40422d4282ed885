"""The same questions to runs, under the ids that their scripts gave them."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from seamount.tracking.compat.neptune_query import fetching, filters, types
from seamount.tracking.compat.neptune_query.selection import RUNS

if TYPE_CHECKING:
    import pandas

__all__ = [
    "download_files",
    "fetch_metrics",
    "fetch_runs_table",
    "fetch_series",
    "list_attributes",
    "list_runs",
]


def list_runs(
    *,
    project: str | None = None,
    runs: str | list[str] | filters.Filter | None = None,
) -> list[str]:
    """Ids of runs, sorted; `runs` is a regex on ids, a list of them, or a Filter."""
    return fetching.labels(RUNS, project, runs)


def list_attributes(
    *,
    project: str | None = None,
    runs: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter | None = None,
) -> list[str]:
    """Names of attributes, sorted; `attributes` is a regex, a list, or an AttributeFilter."""
    return fetching.attribute_names(RUNS, project, runs, attributes)


def fetch_metrics(
    *,
    project: str | None = None,
    runs: str | list[str] | filters.Filter,
    attributes: str | list[str] | filters.AttributeFilter,
    include_time: Literal["absolute"] | None = None,
    step_range: tuple[float | None, float | None] = (None, None),
    lineage_to_the_root: bool = True,
    tail_limit: int | None = None,
    type_suffix_in_column_names: bool = False,
    include_point_previews: bool = False,
) -> pandas.DataFrame:
    """Every point of metrics: a row a run and step, a column a metric.

    `step_range` is inclusive; `tail_limit` keeps the last points of each metric. With time or
    previews a column has sub-columns: value, absolute_time, is_preview, preview_completion.
    """
    return fetching.metrics(
        RUNS,
        project,
        runs,
        attributes,
        include_time,
        step_range,
        lineage_to_the_root,
        tail_limit,
        type_suffix_in_column_names,
        include_point_previews,
    )


def fetch_runs_table(
    *,
    project: str | None = None,
    runs: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter = [],  # noqa: B006
    sort_by: str | filters.Attribute = filters.Attribute("sys/creation_time", type="datetime"),  # noqa: B008
    sort_direction: Literal["asc", "desc"] = "desc",
    limit: int | None = None,
    type_suffix_in_column_names: bool = False,
) -> pandas.DataFrame:
    """A row a run, a column an attribute; series show their last value.

    Runs without the attribute that is sorted by come last.
    """
    return fetching.table(
        RUNS,
        runs,
        attributes,
        sort_by,
        sort_direction,
        limit,
        type_suffix_in_column_names,
        project=project,
    )


def fetch_series(
    *,
    project: str | None = None,
    runs: str | list[str] | filters.Filter,
    attributes: str | list[str] | filters.AttributeFilter,
    include_time: Literal["absolute"] | None = None,
    step_range: tuple[float | None, float | None] = (None, None),
    lineage_to_the_root: bool = True,
    tail_limit: int | None = None,
) -> pandas.DataFrame:
    """Texts, histograms and files of series: a row a run and step, a column a series."""
    return fetching.series(
        RUNS,
        project,
        runs,
        attributes,
        include_time,
        step_range,
        lineage_to_the_root,
        tail_limit,
    )


def download_files(
    *,
    files: types.File | Iterable[types.File] | pandas.Series | pandas.DataFrame,
    destination: str | pathlib.Path | None = None,
) -> pandas.DataFrame:
    """Copy files that a table or series gave into a folder (the working one); paths come back.

    Raises NeptuneFileDownloadError where a file's content is gone or was changed.
    """
    return fetching.download(RUNS, files, destination)
