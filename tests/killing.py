"""Work in a forked process, killed just before its n-th operation on a file."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

EVENTS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}


def in_child(work: Callable[[], object]) -> int:
    """Do `work` in a forked process; give its pid."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return pid


def on_event(count: Callable[[], None], folder: str = "") -> None:
    """Call `count` before each operation on a file (of `folder`) in this process."""

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and str(arguments[0]).startswith(folder):
            count()

    sys.addaudithook(hook)


def kill_at_event(number: int, folder: str = "") -> None:
    """SIGKILL this process just before its n-th operation on a file (of `folder`)."""
    seen = 0

    def count() -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    on_event(count, folder)


def count_events(work: Callable[[], object]) -> int:
    """Operations on files of a whole run of `work`, in a process of its own."""
    reader, writer = os.pipe()

    def counted() -> None:
        seen = 0

        def count() -> None:
            nonlocal seen
            seen += 1

        on_event(count)
        work()
        os.write(writer, str(seen).encode())

    os.waitpid(in_child(counted), 0)
    return int(os.read(reader, 20))
