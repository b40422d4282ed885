"""What a Run takes in beside what it is given: console, uncaught exceptions, and the watcher."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.core.errors import UserError
from seamount.tracking.capture import console
from seamount.tracking.capture.exceptions import UncaughtExceptions
from seamount.tracking.watcher import command, start


@dataclass(frozen=True)
class Capture:
    """What a Run takes in by itself. None means: as the environment says, else on.

    `watcher`: the process that flushes in the background, measures the system and says how a killed
    process ended (SEAMOUNT_TRACKING_WATCHER=off). Without it `system_s` and `source` do nothing.
    `console`: "text", "descriptors" (C code and child processes too), or False; True and None are
    "text" (SEAMOUNT_TRACKING_CONSOLE=off). `system_s`: seconds between system metrics, 0 for none.
    `source`: commit, packages and command; `diff`: git's difference too. `exceptions`: those that
    nobody caught.
    """

    watcher: bool | None = None
    console: bool | str | None = None
    system_s: float = 10.0
    source: bool = True
    diff: bool = True
    exceptions: bool = True
    runtime_namespace: str = "runtime"
    source_namespace: str = "source_code"

    def __post_init__(self) -> None:
        if self.console not in (None, True, False, console.TEXT, console.DESCRIPTORS):
            raise UserError(
                f"capture of the console is {self.console!r}: use 'text', 'descriptors' or False"
            )
        if not 0 <= self.system_s < float("inf"):
            raise UserError(f"system_s is {self.system_s!r}: give seconds, or 0 for no metrics")

    @property
    def console_mode(self) -> str | None:
        """The mode after asking the environment, None for none."""
        wanted = settings.tracking_console() if self.console is None else self.console
        return console.TEXT if wanted is True else wanted or None

    @property
    def watched(self) -> bool:
        """Whether a watcher is wanted after asking the environment."""
        return settings.tracking_watcher() if self.watcher is None else self.watcher


def capture_of(wanted: Capture | bool | None) -> Capture:
    """`wanted` as a Capture: None is the default, False takes in nothing."""
    if isinstance(wanted, Capture):
        return wanted
    if wanted is False:
        return dataclasses.replace(Capture(), watcher=False, console=False, exceptions=False)
    return Capture()


def watch_options(capture: Capture, deliver_to: str | None = None) -> dict[str, Any]:
    """What the start record of a strand asks of the watcher."""
    if not capture.watched:
        return {}
    options: dict[str, Any] = {"system_s": capture.system_s}
    if deliver_to:
        options["deliver_to"] = deliver_to
    if capture.source:
        described = command.of_this_process()
        described |= {"namespace": capture.source_namespace, "diff": capture.diff}
        options["source"] = described
    return options


class Surroundings:
    """Opened after the run's strand has its file; `log` appends an event to it."""

    def __init__(
        self,
        capture: Capture,
        folder: Path,
        segment: str,
        created_us: int,
        log: Callable[[dict[str, Any]], None],
    ) -> None:
        self._log, self._created_us = log, created_us
        self._namespace = capture.runtime_namespace
        self._pid = os.getpid()
        self._console: console.ConsoleCapture | None = None
        self._exceptions: UncaughtExceptions | None = None
        if capture.watched:
            start.start(folder, segment)
        if capture.console_mode:
            self._console = console.ConsoleCapture(
                capture.console_mode, self._namespace, self._line
            )
        if capture.exceptions:
            self._exceptions = UncaughtExceptions(self._error)

    def close(self) -> None:
        """Stop taking in; what was unfinished is logged."""
        if self._exceptions is not None:
            self._exceptions.close()
        if self._console is not None:
            self._console.close()

    def _step(self) -> float:
        """Seconds since the run was made: orders lines of all processes and attempts alike."""
        return (time.time_ns() // 1000 - self._created_us) / 1e6

    def _line(self, series: str, line: str, finished: bool) -> None:
        if finished:
            data = {series: line}
            self._log({"kind": "strings", "step": self._step(), "data": data, "console": 1})
        else:
            self._log({"kind": "console", "name": series, "text": line})

    def _error(self, error: dict[str, str]) -> None:
        data = {f"{self._namespace}/exceptions": error["traceback"]}
        self._log({"kind": "strings", "step": self._step(), "data": data})
