"""One at a time: a build or an exclusion holds its folder against every other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from seamount.core import locks, storage
from seamount.core.errors import UserError


@contextmanager
def alone(url: str) -> Iterator[None]:
    """Hold the local folder at `url`, which must be there; raises UserError where another does.

    A remote folder is not held: nobody could.
    """
    if not storage.is_local(url):
        yield
        return
    with locks.tried(storage.local_path(url)) as mine:
        if not mine:
            raise UserError(
                f"another build or exclusion is at work in {url}: wait until it ended, or choose "
                "another folder"
            )
        yield
