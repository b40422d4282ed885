"""Questions to a store, answered with plain rows; everything logged so far is taken in first."""

from seamount.tracking.query.duck import sql
from seamount.tracking.query.tables import columns, points, run, runs

__all__ = ["columns", "points", "run", "runs", "sql"]
