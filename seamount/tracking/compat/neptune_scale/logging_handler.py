"""Log records of Python's logging as a string series of a run."""

from __future__ import annotations

import itertools
import logging
from datetime import datetime

from seamount.tracking.compat.neptune_scale import checks
from seamount.tracking.compat.neptune_scale.api.run import Run


class NeptuneLoggingHandler(logging.Handler):
    """Logs each record, formatted, to the string series `attribute_path` ("runtime/logs").

    Steps count from 0, or from where the run was forked. The tracker's own messages are left out.
    """

    def __init__(
        self, *, run: Run, level: int = logging.NOTSET, attribute_path: str | None = None
    ) -> None:
        checks.of_type("run", run, Run, optional=False)
        checks.of_type("level", level, int, optional=False)
        checks.of_type("attribute_path", attribute_path, str)
        super().__init__(level)
        self._run, self._path = run, attribute_path or "runtime/logs"
        self._steps = itertools.count(int(run._fork_step or 0))
        self.addFilter(lambda record: not record.name.startswith("seamount.tracking"))

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record; what goes wrong goes to logging's own handleError."""
        try:
            self._run.log_string_series(
                {self._path: self.format(record)},
                step=next(self._steps),
                timestamp=datetime.fromtimestamp(record.created),
            )
        except Exception:
            self.handleError(record)
