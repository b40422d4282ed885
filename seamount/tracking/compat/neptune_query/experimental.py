"""Tables over all projects of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from seamount.tracking.compat.neptune_query import fetching, filters
from seamount.tracking.compat.neptune_query.selection import EXPERIMENTS, RUNS

if TYPE_CHECKING:
    import pandas

__all__ = ["fetch_experiments_table_global", "fetch_runs_table_global"]


def fetch_experiments_table_global(
    *,
    experiments: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter = [],  # noqa: B006
    sort_by: filters.Attribute = filters.Attribute("sys/creation_time", type="datetime"),  # noqa: B008
    sort_direction: Literal["asc", "desc"] = "desc",
    limit: int | None = None,
    type_suffix_in_column_names: bool = False,
) -> pandas.DataFrame:
    """Experiments of all projects, the project before the label in the index.

    Attributes in filters need a type, as at Neptune; any attribute may be asked for.
    """
    return fetching.table(
        EXPERIMENTS,
        experiments,
        attributes,
        sort_by,
        sort_direction,
        limit,
        type_suffix_in_column_names,
        everywhere=True,
    )


def fetch_runs_table_global(
    *,
    runs: str | list[str] | filters.Filter | None = None,
    attributes: str | list[str] | filters.AttributeFilter = [],  # noqa: B006
    sort_by: filters.Attribute = filters.Attribute("sys/creation_time", type="datetime"),  # noqa: B008
    sort_direction: Literal["asc", "desc"] = "desc",
    limit: int | None = None,
    type_suffix_in_column_names: bool = False,
) -> pandas.DataFrame:
    """Runs of all projects, the project before the label in the index.

    Attributes in filters need a type, as at Neptune; any attribute may be asked for.
    """
    return fetching.table(
        RUNS,
        runs,
        attributes,
        sort_by,
        sort_direction,
        limit,
        type_suffix_in_column_names,
        everywhere=True,
    )
