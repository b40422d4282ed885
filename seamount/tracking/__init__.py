"""Experiment tracking: the logger, its store and its MLflow face."""

from seamount.tracking.run import Run
from seamount.tracking.surroundings import Capture

__all__ = ["Capture", "Run"]
