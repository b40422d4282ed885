"""Uncaught exceptions of the main thread and of others, logged at the moment they are raised.

The run's own end is written when the interpreter exits, and that may hang (a communicator waiting
for a dead rank, say) until somebody kills the process: the traceback is safe by then.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from seamount.tracking.endings import describe

log = logging.getLogger("seamount.tracking")


class UncaughtExceptions:
    """Hands every uncaught exception's description to `say`, then to the hook that was there."""

    def __init__(self, say: Callable[[dict[str, str]], None]) -> None:
        self._say: Callable[[dict[str, str]], None] | None = say
        self._main, self._thread = sys.excepthook, threading.excepthook
        sys.excepthook, threading.excepthook = self._on_main, self._on_thread

    def close(self) -> None:
        """Give the hooks back; where another lies on top of ours it only passes on."""
        self._say = None
        if sys.excepthook == self._on_main:
            sys.excepthook = self._main
        if threading.excepthook == self._on_thread:
            threading.excepthook = self._thread

    def _on_main(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        self._record(error)
        self._main(kind, error, trace)

    def _on_thread(self, args: Any) -> None:
        if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
            self._record(args.exc_value)
        self._thread(args)

    def _record(self, error: BaseException) -> None:
        if self._say is None:
            return
        try:
            self._say(describe(error))
        except Exception as failed:  # the exception itself must be seen, whatever this one is
            self._say = None
            log.warning("uncaught exceptions are not recorded any more: %s", failed)
