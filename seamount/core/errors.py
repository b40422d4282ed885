"""The exceptions a person meets: one sentence (what, which value, what to do) and an exit code."""

from __future__ import annotations

import errno


class SeamountError(Exception):
    """Something failed that no change of the command would have prevented; exit code 1."""

    exit_code = 1


class UserError(SeamountError):
    """The input or a parameter is wrong and the message says what to change; exit code 2."""

    exit_code = 2


class CorruptData(SeamountError):
    """Stored bytes are not what they claim to be (truncated, wrong checksum, wrong format)."""


class DiskFull(SeamountError):
    """The target has no room left; nothing was left under a final name."""


class Preempted(SeamountError):
    """The run stopped on request and continues from its last checkpoint; exit code 75."""

    exit_code = 75


def explain_os_error(error: OSError, what: str) -> SeamountError:
    """Turn an operating-system error met while doing `what` into one clear sentence.

    `what` is a phrase such as "writing /data/train/00.jsonl.zst".
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no space left on the device while {what}: free some space, or choose another "
            "output folder, and run the same command again (finished work is kept)"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return UserError(f"no permission for {what}: check the folder's owner, or choose another")
    if error.errno == errno.ENOENT or isinstance(error, FileNotFoundError):
        return UserError(f"not found while {what}: check the path")
    if error.errno in (errno.ENOTDIR, errno.EISDIR, errno.EEXIST):
        return UserError(f"a file stands where a folder is needed (or the reverse) while {what}")
    return SeamountError(f"{error.strerror or error} while {what}")
