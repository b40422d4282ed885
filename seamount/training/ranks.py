"""The child side of launch.py: `python -m seamount.training.ranks FD`, its order on stdin."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from typing import Any

from seamount.core import settings
from seamount.core.errors import Preempted, SeamountError
from seamount.training.launch import describe_exit

_PR_SET_PDEATHSIG = 1
# A pipe takes up to 4096 bytes whole, so that the lines of two ranks never mix.
_MAX_TRACE, _MAX_MESSAGE = 2000, 1000


class Channel:
    """Where a rank sends events to the process that waits for it; safe to use from any rank."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def send(self, event: dict[str, Any]) -> None:
        """Send one event; when nobody listens any more, it is dropped."""
        line = json.dumps(event).encode() + b"\n"
        # with the caller gone, the watchdog is about to end this process
        with contextlib.suppress(BrokenPipeError):
            os.write(self.descriptor, line)


def main() -> None:
    """Run the ordered function on every rank; the exit code tells how it went."""
    channel = Channel(int(sys.argv[1]))
    order = json.loads(sys.stdin.buffer.readline())
    signal.signal(signal.SIGTERM, _stop_early)
    signal.signal(signal.SIGINT, _stop_early)
    try:
        _prepare(order)
    except BaseException as error:
        _report(channel, 0, error)
        raise SystemExit(_code(error)) from error
    if order["ranks"] == 1:
        threading.Thread(target=_watch_parent, daemon=True).start()
        raise SystemExit(_run(order, 0, channel))
    raise SystemExit(_run_many(order, channel))


def _prepare(order: dict[str, Any]) -> None:
    """Import what is heavy once, before the fork; no thread pool may start here."""
    with warnings.catch_warnings():
        # Lightning 2.6 asks torch's tree module in a way that torch 2.13 calls old.
        warnings.filterwarnings("ignore", message=".*LeafSpec.*")
        importlib.import_module(order["target"].partition(":")[0])


def _watch_parent() -> None:
    """End this process when the one that holds our standard input open is gone."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _run(order: dict[str, Any], rank: int, channel: Channel) -> int:
    module, _, name = order["target"].partition(":")
    try:
        value = getattr(importlib.import_module(module), name)(order["job"], channel)
    except BaseException as error:
        _report(channel, rank, error)
        return _code(error)
    if rank == 0:
        channel.send({"event": "result", "value": value})
    return 0


def _code(error: BaseException) -> int:
    return error.exit_code if isinstance(error, SeamountError) else 1


def _stop_early(number: int, _frame: Any) -> None:
    """A request to stop that comes before the rank function listens for itself."""
    raise Preempted(
        "stopped by request before its first step; the same command goes on from where it was"
    )


def _report(channel: Channel, rank: int, error: BaseException) -> None:
    expected = isinstance(error, SeamountError)
    message = str(error) if expected else f"rank {rank} failed: {type(error).__name__}: {error}"
    message = message[:_MAX_MESSAGE]
    trace = "" if isinstance(error, Preempted) else traceback.format_exc()[-_MAX_TRACE:]
    kind = type(error).__name__
    channel.send({"event": "error", "kind": kind, "message": message, "traceback": trace})


def _run_many(order: dict[str, Any], channel: Channel) -> int:
    children = {_fork(order, rank, channel): rank for rank in range(order["ranks"])}

    def hand_on(number: int, _frame: Any) -> None:
        for pid in list(children):
            os.kill(pid, number)

    signal.signal(signal.SIGTERM, hand_on)
    signal.signal(signal.SIGINT, hand_on)
    threading.Thread(target=_watch_parent, daemon=True).start()
    worst = 0
    while children:
        pid, status = os.wait()
        rank = children.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        if code and not worst:
            worst = code if code > 0 else 1
            if code != Preempted.exit_code:
                _end_others(children, rank, code, channel)
    return worst


def _end_others(children: dict[int, int], rank: int, code: int, channel: Channel) -> None:
    """One rank is gone, so the others would wait for it for ever.

    A rank that raised has told so itself; of one that was killed we tell.
    """
    if code < 0:
        message = f"rank {rank} {describe_exit(code)}, and the job was ended"
        channel.send({"event": "error", "kind": "dead", "message": message})
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _fork(order: dict[str, Any], rank: int, channel: Channel) -> int:
    launcher = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        _end_with(launcher)
        settings.export_environment(
            RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(order["ranks"])
        )
        code = _run(order, rank, channel)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _end_with(launcher: int) -> None:
    """Let the kernel end this rank when the launcher is gone."""
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:
        os._exit(1)


if __name__ == "__main__":
    main()
