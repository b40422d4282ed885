"""Child processes that outlive nobody: started in a session of their own, stopped by record.

A record names a process by its pid and the clock tick at which it started, so that a stale record
never stops a stranger that got the same pid.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seamount.core.errors import SeamountError

_PR_SET_PDEATHSIG = 1
_STARTED_FIELD = 19  # of /proc/PID/stat, counted behind the command's closing bracket


@dataclass(frozen=True)
class Record:
    """A process: its pid (also its process group) and the tick at which it started."""

    pid: int
    started: int


def free_port(preferred: int = 0) -> int:
    """`preferred` if nobody listens there on the loopback, else a port the system picks."""
    for port in (preferred, 0):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise SeamountError("no free port on the loopback: close some servers and run again")


def spawn(
    command: Sequence[str],
    log_file: Path,
    environment: Mapping[str, str],
    folder: Path | None = None,
    dies_with_parent: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `command` in a session of its own with its output appended to `log_file`.

    With `dies_with_parent` the kernel ends it when this process is gone, even by kill -9.
    """
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("ab") as output:
        return subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            preexec_fn=_end_with_parent if dies_with_parent else None,
        )


def _end_with_parent() -> None:
    import ctypes

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def record(pid: int) -> Record:
    """The record by which `stop` knows the process `pid` again."""
    return Record(pid, _started(pid) or 0)


def alive(process: Record) -> bool:
    """Whether the recorded process still runs (a zombie does not)."""
    return _started(process.pid) == process.started != 0


def _started(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[_STARTED_FIELD])


def stop(process: Record, patience_s: float = 15) -> None:
    """End the recorded process group: SIGTERM, and SIGKILL after `patience_s` seconds."""
    if not alive(process):
        return
    _signal_group(process.pid, signal.SIGTERM)
    give_up = time.monotonic() + patience_s
    while alive(process) and time.monotonic() < give_up:
        time.sleep(0.1)
    _signal_group(process.pid, signal.SIGKILL)  # what is left of the group


def _signal_group(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)
