"""Ranks as child processes: started clean, heard through a pipe, gone when this process is gone.

A launcher child imports torch once, in an environment in which OpenMP sleeps instead of spinning,
and forks the ranks; a single rank is the launcher itself. The launcher's standard input is a pipe
that only this process holds open: when this process dies, even by kill -9, it reads the end and
ends itself and every rank.

Rank functions take (job, channel): plain data, and where to `send` events (dicts) to the caller.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from seamount.core import settings
from seamount.core.errors import CorruptData, DiskFull, Preempted, SeamountError, UserError

log = logging.getLogger("seamount")

_GRACE_S = 30.0
_KEEP_BYTES = str(4 << 30)
_ERRORS = (CorruptData, DiskFull, Preempted, UserError)


def run_ranks(
    target: str,
    job: dict[str, Any],
    ranks: int = 1,
    threads: int = 0,
    on_event: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run the function `target` ("module:name") on `ranks` ranks and return rank 0's result.

    `threads` per rank, 0 meaning this machine's cores shared out. A SIGTERM or SIGINT that reaches
    this process is handed on to the ranks; whatever else ends the wait stops them too. Raises what
    a rank raised, or SeamountError naming the rank that died.
    """
    receive, send = os.pipe()
    try:
        child = _start(target, job, ranks, threads, send)
    finally:
        os.close(send)
    result: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None
    try:
        with os.fdopen(receive, "r", encoding="utf-8") as events, _handing_on(child):
            for line in events:
                event = json.loads(line)
                if event["event"] == "result":
                    result = event["value"]
                elif event["event"] == "error":
                    # the rank that was killed is the cause; the others' broken pipes follow from it
                    failure = event if failure is None or event["kind"] == "dead" else failure
                elif on_event is not None:
                    on_event(event)
            code = child.wait()
    except BaseException:
        _stop(child)
        raise
    finally:
        if child.stdin is not None:
            child.stdin.close()
    if failure is not None:
        raise _error(failure)
    if code or result is None:
        raise SeamountError(f"rank 0 {describe_exit(code)} before it had a result")
    return result


def describe_exit(code: int) -> str:
    """How a process with this return code ended, in words."""
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was killed by signal {-code} ({signal.Signals(-code).name})"


def free_port() -> int:
    """A TCP port of the loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(
    target: str, job: dict[str, Any], ranks: int, threads: int, send: int
) -> subprocess.Popen[bytes]:
    per_rank = threads or max(1, len(os.sched_getaffinity(0)) // ranks)
    environment = settings.child_environment(
        # A waiting OpenMP thread must sleep: with one core busy, spinning ones cost 50 times.
        OMP_WAIT_POLICY="passive",
        KMP_BLOCKTIME="0",
        OMP_NUM_THREADS=str(per_rank),
        MKL_NUM_THREADS=str(per_rank),
        # Each step's tensors are allocated anew: glibc must keep their pages, or the kernel
        # clears them at every step (6 % of a small model's time).
        MALLOC_MMAP_THRESHOLD_=_KEEP_BYTES,
        MALLOC_TRIM_THRESHOLD_=_KEEP_BYTES,
        TOKENIZERS_PARALLELISM="false",
        PYTHONUNBUFFERED="1",
        PYTHONSAFEPATH="1",  # else `-m` puts the working folder first, whose packages may be others
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()),
        PYTHONPATH=os.pathsep.join(p for p in sys.path if p),
    )
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        environment.pop(name, None)  # those of an outer job are not ours
    child = subprocess.Popen(
        [sys.executable, "-m", "seamount.training.ranks", str(send)],
        stdin=subprocess.PIPE,
        pass_fds=(send,),
        env=environment,
        start_new_session=True,  # Ctrl-C reaches this process alone, which hands it on
    )
    assert child.stdin is not None
    order = {"target": target, "job": job, "ranks": ranks, "threads": per_rank}
    try:
        child.stdin.write(json.dumps(order).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        pass  # it died at once; the wait for its result tells how
    return child


@contextmanager
def _handing_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Hand SIGTERM and SIGINT on to `child` while the block runs.

    The default handlers and Seamount's own give way; another framework's (Prefect's) stays, and
    ends the wait by an exception.
    """

    def hand_on(number: int, _frame: Any) -> None:
        if child.poll() is None:
            child.send_signal(number)

    before = {
        number: handler
        for number in (signal.SIGTERM, signal.SIGINT)
        if _gives_way(handler := signal.getsignal(number))
    }
    if threading.current_thread() is not threading.main_thread():
        before = {}  # only the main thread may set handlers
    for number in before:
        signal.signal(number, hand_on)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _gives_way(handler: Any) -> bool:
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    return handler in defaults or str(getattr(handler, "__module__", "")).startswith("seamount.")


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Ask `child` to save and end; end it by force when it takes too long."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(_GRACE_S)
    except BaseException as error:
        child.kill()
        child.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        log.warning("training did not end within %g s and was killed", _GRACE_S)


def _error(failure: dict[str, Any]) -> SeamountError:
    known = {kind.__name__: kind for kind in _ERRORS}
    error = known.get(failure["kind"], SeamountError)(failure["message"])
    if failure.get("traceback"):
        error.add_note(failure["traceback"])
    return error
