"""Experiment tracking: the logger, its store and its MLflow face."""

from seamount.tracking.capture.surroundings import Capture
from seamount.tracking.run import Run

__all__ = ["Capture", "Run"]
