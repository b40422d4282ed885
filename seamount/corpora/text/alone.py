"""One at a time: a build or an exclusion holds its folder against every other."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from seamount.core import storage
from seamount.core.errors import UserError


@contextmanager
def alone(url: str) -> Iterator[None]:
    """Hold the local folder at `url`, which must be there; raises UserError where another does.

    The system lets go when the process dies. A remote folder is not held: nobody could.
    """
    if not storage.is_local(url):
        yield
        return
    folder = os.open(storage.local_path(url), os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"another build or exclusion is at work in {url}: wait until it ended, or choose "
                "another folder"
            ) from None
        yield
    finally:
        os.close(folder)
