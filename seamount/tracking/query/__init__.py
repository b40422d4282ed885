"""Questions to a store; everything logged so far is taken in first. See docs/tracking/query.md.

from seamount.tracking import query
table = query.runs("config.lr < 0.1 and min(loss) < 2", sort="min(loss)", columns=["config.*"])
table.to_pandas()
for run in table: run.configs, run.metrics, run.series("loss"), run.download("model.bin", "out")
"""

from seamount.tracking.query.audits import audit, compare
from seamount.tracking.query.best_run import best
from seamount.tracking.query.duck import sql
from seamount.tracking.query.effects import importance
from seamount.tracking.query.filters import attribute, config, file, metric, tag
from seamount.tracking.query.mistakes import QueryError
from seamount.tracking.query.promotion import promote
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import RunTable, open_run, runs
from seamount.tracking.query.tables import (
    artifacts,
    buckets,
    columns,
    experiments,
    lineage,
    metrics,
    points,
    run,
    series,
)

__all__ = [
    "QueryError",
    "RunTable",
    "RunView",
    "artifacts",
    "attribute",
    "audit",
    "best",
    "buckets",
    "columns",
    "compare",
    "config",
    "experiments",
    "file",
    "importance",
    "lineage",
    "metric",
    "metrics",
    "open_run",
    "points",
    "promote",
    "run",
    "runs",
    "series",
    "sql",
    "tag",
]  # fmt: skip
