"""`neptune_query` over a Seamount store: experiments, each as its head run shows it.

import seamount.tracking.compat.neptune_query as nq
nq.fetch_metrics(experiments=["first"], attributes=r"^loss")
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from seamount.tracking.compat.neptune_query import experimental, fetching, filters, types
from seamount.tracking.compat.neptune_query.selection import EXPERIMENTS

if TYPE_CHECKING:
    import pandas

__all__ = [
    "download_files",
    "experimental",
    "fetch_experiments_table",
    "fetch_metric_buckets",
    "fetch_metrics",
    "fetch_series",
    "list_attributes",
    "list_experiments",
    "set_api_token",
]


def set_api_token(api_token: str) -> None:
    """Taken and not needed; ValueError for an empty one."""
    if not api_token:
        raise ValueError("API token must be provided")


def list_experiments(
    *,
    project: str | None = None,
    experiments: str | list[str] | filters.Filter | None = None,
) -> list[str]:
    """Names of experiments, sorted; `experiments` is a regex, a list of names, or a Filter."""
    return fetching.labels(EXPERIMENTS, project, experiments)


def list_attributes(
    *,
    project: str | None = None,
    experiments: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter | None = None,
) -> list[str]:
    """Names of attributes, sorted; `attributes` is a regex, a list, or an AttributeFilter."""
    return fetching.attribute_names(EXPERIMENTS, project, experiments, attributes)


def fetch_metrics(
    *,
    project: str | None = None,
    experiments: str | list[str] | filters.Filter,
    attributes: str | list[str] | filters.AttributeFilter,
    include_time: Literal["absolute"] | None = None,
    step_range: tuple[float | None, float | None] = (None, None),
    lineage_to_the_root: bool = True,
    tail_limit: int | None = None,
    type_suffix_in_column_names: bool = False,
    include_point_previews: bool = False,
) -> pandas.DataFrame:
    """Every point of metrics: a row a experiment and step, a column a metric.

    `step_range` is inclusive; `tail_limit` keeps the last points of each metric. With time or
    previews a column has sub-columns: value, absolute_time, is_preview, preview_completion.
    """
    return fetching.metrics(
        EXPERIMENTS,
        project,
        experiments,
        attributes,
        include_time,
        step_range,
        lineage_to_the_root,
        tail_limit,
        type_suffix_in_column_names,
        include_point_previews,
    )


def fetch_experiments_table(
    *,
    project: str | None = None,
    experiments: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter = [],  # noqa: B006
    sort_by: str | filters.Attribute = filters.Attribute("sys/creation_time", type="datetime"),  # noqa: B008
    sort_direction: Literal["asc", "desc"] = "desc",
    limit: int | None = None,
    type_suffix_in_column_names: bool = False,
) -> pandas.DataFrame:
    """A row an experiment, a column an attribute; series show their last value.

    Experiments without the attribute that is sorted by come last.
    """
    return fetching.table(
        EXPERIMENTS,
        experiments,
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
    experiments: str | list[str] | filters.Filter,
    attributes: str | list[str] | filters.AttributeFilter,
    include_time: Literal["absolute"] | None = None,
    step_range: tuple[float | None, float | None] = (None, None),
    lineage_to_the_root: bool = True,
    tail_limit: int | None = None,
) -> pandas.DataFrame:
    """Texts, histograms and files of series: a row a experiment and step, a column a series."""
    return fetching.series(
        EXPERIMENTS,
        project,
        experiments,
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
    return fetching.download(EXPERIMENTS, files, destination)


def fetch_metric_buckets(
    *,
    project: str | None = None,
    experiments: str | list[str] | filters.Filter,
    x: Literal["step"] = "step",
    y: str | list[str] | filters.AttributeFilter,
    limit: int = 1000,
    lineage_to_the_root: bool = True,
    include_point_previews: bool = False,
) -> pandas.DataFrame:
    """Metrics thinned to at most `limit` buckets of steps, a point each.

    A metric's first bucket shows its first point, every other one its last.
    """
    return fetching.metric_buckets(
        EXPERIMENTS,
        project,
        experiments,
        x,
        y,
        limit,
        lineage_to_the_root,
        include_point_previews,
    )
