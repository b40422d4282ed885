"""How a run ends: the states, what an exception means for them, and SIGTERM turned into one."""

from __future__ import annotations

import os
import signal
import threading
import traceback
import weakref
from collections.abc import Callable
from types import FrameType

from seamount.core.errors import Preempted
from seamount.tracking.names import unicode_text

RUNNING, COMPLETED, FAILED = "Running", "Completed", "Failed"
INTERRUPTED = "Interrupted"  # by Ctrl-C, SIGTERM or a preemption, and it could still say so
KILLED = "Killed"  # gone without a last word
_MAX_CHARS = 1 << 16


def state_after(error: BaseException | None, signalled: bool) -> str:
    """The state of a run whose block was left by `error`.

    Not an Exception (KeyboardInterrupt, Prefect's TerminationSignal, the SystemExit that SIGTERM
    became) and Preempted are Interrupted; `sys.exit()` of the program's own counts by its code.
    """
    if error is None:
        return COMPLETED
    if isinstance(error, SystemExit) and not signalled:
        return COMPLETED if error.code in (None, 0) else FAILED
    stopped = not isinstance(error, Exception) or isinstance(error, Preempted)
    return INTERRUPTED if stopped else FAILED


def describe(error: BaseException) -> dict[str, str]:
    """Type, message and traceback of an exception, each bounded."""
    text = "".join(traceback.format_exception(error))
    return {
        "type": type(error).__name__,
        "message": unicode_text(str(error)[:_MAX_CHARS]),
        "traceback": unicode_text(text[-_MAX_CHARS:]),
    }


class SigtermGuard:
    """While installed, SIGTERM raises SystemExit(143), so that `with Run()` can say how it ended.

    A handler of the program's own (Lightning's, Prefect's) is left alone: it ends in an exception
    too. Forked children end by SIGTERM as if the guard were not there.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._pid: int | None = None
        self._masks: dict[int, set[int]] = {}

    def install(self) -> None:
        """Take SIGTERM, in the main thread and where nobody else has."""
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._raise)
            self._pid = os.getpid()
            this = weakref.ref(self)
            os.register_at_fork(
                before=lambda: _call(this, SigtermGuard._hold),
                after_in_parent=lambda: _call(this, SigtermGuard._let_go),
                after_in_child=lambda: _call(this, SigtermGuard._let_go_in_child),
            )

    def remove(self) -> None:
        """Give SIGTERM back, unless somebody took it meanwhile."""
        if self._pid is not None and signal.getsignal(signal.SIGTERM) == self._raise:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._pid = None

    # A SIGTERM that reaches a child before Python has set it up is forgotten by Python, if there is
    # a handler: so it is held back during the fork, and finds the default action in the child.
    def _hold(self) -> None:
        if self._pid is not None:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            self._masks[threading.get_ident()] = {int(number) for number in before}

    def _let_go(self) -> None:
        before = self._masks.pop(threading.get_ident(), None)
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _let_go_in_child(self) -> None:
        self.remove()
        self._let_go()

    def _raise(self, number: int, _frame: FrameType | None) -> None:
        self.signal = number
        raise SystemExit(128 + number)


def _call(this: weakref.ReferenceType[SigtermGuard], do: Callable[[SigtermGuard], None]) -> None:
    guard = this()
    if guard is not None:
        do(guard)
