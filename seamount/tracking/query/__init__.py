"""Questions to a store; everything logged so far is taken in first. See docs/tracking/query.md.

from seamount.tracking import query
table = query.runs("config.lr < 0.1 and min(loss) < 2", sort="min(loss)", columns=["config.*"])
table.to_pandas()
for run in table: run.configs, run.metrics, run.series("loss"), run.download("model.bin", "out")
"""

from seamount.tracking.query.filters import attribute, config, file, metric, tag
from seamount.tracking.query.mistakes import QueryError
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import RunTable, run_view, runs
from seamount.tracking.query.tables import (
    artifacts,
    buckets,
    experiments,
    metrics,
    points,
    run,
    series,
)

__all__ = [
    "QueryError", "RunTable", "RunView", "artifacts", "attribute", "buckets", "config",
    "experiments", "file", "metric", "metrics", "points", "run", "run_view", "runs", "series",
    "tag",
]  # fmt: skip
