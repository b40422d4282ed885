"""Questions to a store, answered with plain rows; everything logged so far is taken in first."""

from seamount.tracking.query.tables import points, run, runs

__all__ = ["points", "run", "runs"]
