"""One progress line for long work: a bar on a terminal, a plain log line elsewhere."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
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
    in_bytes: bool = False
    _draw: Any = None
    _last_log_s: float = field(default_factory=time.monotonic)
    _start_s: float = field(default_factory=time.monotonic)

    def advance(self, amount: float = 1, note: str = "") -> None:
        """Count `amount` more units as done; `note` is shown behind the bar."""
        self.done += amount
        if self._draw is not None:
            progress, task = self._draw
            progress.update(task, advance=amount, note=note)
        elif time.monotonic() - self._last_log_s >= _LOG_EVERY_S:
            self._last_log_s = time.monotonic()
            log.info("%s %s %s", self.label, self._so_far(), note)

    def _so_far(self) -> str:
        """What is done of what, and in bytes the mean rate and the time left."""
        if not self.in_bytes:
            return f"{self.done:g}/{self.total:g}" if self.total else f"{self.done:g}"
        rate = self.done / max(1e-9, time.monotonic() - self._start_s)
        if not self.total:
            return f"{amount(self.done)}, {amount(rate)}/s,"
        left_s = max(0.0, self.total - self.done) / max(1e-9, rate)
        left = timedelta(seconds=round(left_s))
        return f"{amount(self.done)} of {amount(self.total)}, {amount(rate)}/s, {left} left,"


def amount(size_bytes: float) -> str:
    """Bytes for people: `512 B`, `1.5 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size_bytes) < 1024:
            return f"{size_bytes:.0f} B" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1024
    return f"{size_bytes:.1f} TiB"


@contextmanager
def bar(label: str, total: float | None = None, in_bytes: bool = False) -> Iterator[Bar]:
    """Show progress of `total` units of work under `label` while the block runs.

    Bytes are shown as such, with their rate.
    """
    if not settings.is_terminal():
        yield Bar(label, total, in_bytes=in_bytes)
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    sizes = (bars.DownloadColumn(binary_units=True), bars.TransferSpeedColumn()) if in_bytes else ()
    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=30),
        TextColumn("{task.percentage:>3.0f}%"),
        *sizes,
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[note]}", markup=False),  # names from outside: `[/x]` is no markup
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as progress:
        task = progress.add_task(label, total=total, note="")
        yield Bar(label, total, in_bytes=in_bytes, _draw=(progress, task))
