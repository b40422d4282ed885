"""What Linux tells of a process that is not our child: whether and how it ended, and its console.

Exit codes of other's children are not in POSIX. Linux shows them in /proc/PID/stat until the parent
has reaped the process (proc(5), field 52), and from 6.15 on through a pidfd that was opened before
(PIDFD_GET_INFO, include/uapi/linux/pidfd.h). Elsewhere the code stays unknown, and is said to be.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import stat
import struct
from pathlib import Path

_INFO = struct.Struct("<QQ11Ii")
_GET_INFO = (3 << 30) | (_INFO.size << 16) | (0xFF << 8) | 11
_INFO_EXIT = 1 << 3
_TAIL_BYTES = 1 << 14


def open_pidfd(pid: int) -> int:
    """A descriptor that turns readable when the process ends; -1 where there is none."""
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return -1


def wait_status(pidfd: int, pid: int) -> int | None:
    """Status of an ended process as waitpid gives it, None where the kernel does not tell."""
    status = _zombie_status(pid)
    if status is None and pidfd >= 0:
        buffer = bytearray(_INFO.pack(_INFO_EXIT, *[0] * 13))
        try:
            fcntl.ioctl(pidfd, _GET_INFO, buffer)
        except OSError:
            return None
        mask, *_, code = _INFO.unpack(buffer)
        status = code if mask & _INFO_EXIT else None
    return status


def _zombie_status(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    return int(fields[49]) if fields[0] == "Z" else None


def explain(status: int | None) -> str:
    """`status` in words."""
    if status is None:
        return "the process is gone; how it ended is not known"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            name = signal.Signals(number).name
        except ValueError:
            name = "no name"
        return f"the process was ended by signal {number} ({name})"
    return f"the process ended with exit code {os.WEXITSTATUS(status)} and did not close the run"


def oom_kills(pid: int) -> tuple[Path, int] | None:
    """The memory.events file of the process's control group, and how many it has killed so far."""
    try:
        line = Path(f"/proc/{pid}/cgroup").read_text().splitlines()[-1]
        events = Path("/sys/fs/cgroup") / line.split(":", 2)[2].lstrip("/") / "memory.events"
        return events, count_oom_kills(events)
    except (OSError, IndexError, ValueError):
        return None


def count_oom_kills(events: Path) -> int:
    """The number that stands after oom_kill in a memory.events file."""
    return int(dict(line.split() for line in events.read_text().splitlines())["oom_kill"])


def console_files(pid: int) -> list[Path]:
    """Regular files to which the process's stderr and stdout were redirected."""
    found: list[Path] = []
    for fd in (2, 1):
        with contextlib.suppress(OSError):
            link = f"/proc/{pid}/fd/{fd}"
            path = Path(os.readlink(link))
            if stat.S_ISREG(os.stat(link).st_mode) and path not in found:
                found.append(path)
    return found


def tail_lines(path: Path, count: int) -> list[str]:
    """The last lines of a text file; none where it cannot be read."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(os.fstat(stream.fileno()).st_size - _TAIL_BYTES, 0))
            text = stream.read(_TAIL_BYTES).decode("utf-8", "backslashreplace")
    except OSError:
        return []
    return text.splitlines()[-count:]
