"""Lightning's logger interface over a Run; imported only by programs that use Lightning."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only

from seamount.tracking.endings import FAILED
from seamount.tracking.run import Run


class SeamountLogger(Logger):
    """`Trainer(logger=SeamountLogger(project=..., name=...))`; rank 0 logs, as with other loggers.

    Give `run` to log to a Run that is already open (it is then left open at the end).
    """

    def __init__(self, run: Run | None = None, **options: Any) -> None:
        super().__init__()
        self._run = run
        self._options = options
        self._owned = run is None

    @property
    @rank_zero_experiment
    def experiment(self) -> Run:
        """The Run, opened when first asked for."""
        if self._run is None:
            self._run = Run(**self._options)
        return self._run

    @property
    def name(self) -> str | None:
        """The project."""
        return self._run.project if self._run else self._options.get("project")

    @property
    def version(self) -> str | None:
        """The run id."""
        return self._run.run_id if self._run else self._options.get("run_id")

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        """Log numbers at `step`; Lightning's own "epoch" entry is kept as a metric."""
        self.experiment.log_metrics(metrics, step=step)

    @rank_zero_only
    def log_hyperparams(self, params: dict[str, Any] | Namespace, *_: Any, **__: Any) -> None:
        """Log hyperparameters as a config snapshot; what has no plain form becomes text."""
        values = vars(params) if isinstance(params, Namespace) else params
        self.experiment.log_configs(values, cast_unsupported=True)

    @rank_zero_only
    def log_file(self, name: str, source: str | Path | bytes) -> None:
        """Store a file of the run."""
        self.experiment.assign_files({name: source})

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Close the Run if this logger opened it."""
        if self._owned and self._run is not None:
            self._run.close(FAILED) if status == "failed" else self._run.close()
