"""One progress line for long work: a bar on a terminal, a plain log line elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from seamount.core import settings

log = logging.getLogger("seamount")
_LOG_EVERY_S = 10.0


@dataclass
class Bar:
    """Handle given by `bar`: call `advance` as work gets done."""

    label: str
    total: float | None
    done: float = 0
    _draw: Any = None
    _last_log_s: float = field(default_factory=time.monotonic)

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Count `amount` more units as done; `note` is shown behind the bar."""
        self.done += amount
        if self._draw is not None:
            progress, task = self._draw
            progress.update(task, advance=amount, note=note)
        elif time.monotonic() - self._last_log_s >= _LOG_EVERY_S:
            self._last_log_s = time.monotonic()
            of = f"/{self.total:g}" if self.total else ""
            log.info("%s %g%s %s", self.label, self.done, of, note)


@contextmanager
def bar(label: str, total: float | None = None) -> Iterator[Bar]:
    """Show progress of `total` units of work under `label` while the block runs."""
    if not settings.is_terminal():
        yield Bar(label, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task(label, total=total, note="")
        yield Bar(label, total, _draw=(progress, task))
