"""A `logging.Handler` that keeps log records as a string series of a run."""

from __future__ import annotations

import logging

from seamount.tracking.run import Run


class RunHandler(logging.Handler):
    """Logs each record, formatted, to the series `name`; steps count by themselves.

        logging.getLogger().addHandler(RunHandler(run))

    The tracker's own messages are passed over: they tell of a run that cannot be written.
    """

    def __init__(self, run: Run, name: str = "runtime/log", level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._run, self._name = run, name
        self.addFilter(lambda record: not record.name.startswith("seamount.tracking"))

    def emit(self, record: logging.LogRecord) -> None:
        """Append one record; what goes wrong goes to logging's own handleError."""
        try:
            self._run.log_string_series({self._name: self.format(record)}, timestamp=record.created)
        except Exception:
            self.handleError(record)
