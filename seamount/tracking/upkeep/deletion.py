"""A run marked as deleted, or taken back: a word in its segments, as all that is known of it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from seamount.core.errors import explain_os_error
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import host_name, newest_attempt
from seamount.tracking.segments.writer import SegmentWriter
from seamount.tracking.store.folder import Store


def set_deleted(store: Store, run_id: str, deleted: bool, *, flush: bool = True) -> None:
    """Say in a segment of its own that the run is deleted, or is not.

    Without `flush` a power cut soon after may undo it. Raises UserError where it cannot be written.
    """
    folder = store.run_folder(run_id)
    now_us = time.time_ns() // 1000
    header = Header(
        run_id=run_id,
        host=host_name(),
        rank=0,
        world_size=1,
        pid=os.getpid(),
        role="client",
        attempt=newest_attempt(folder, 0),
        part=0,
        first_sequence=0,
        start_us=now_us,
        nonce=os.urandom(4).hex(),
    )
    writer = SegmentWriter(folder, header)
    try:
        writer.open()
    except OSError as error:
        raise explain_os_error(error, f"deleting run {run_id} in {store.folder}") from error
    writer.event({"kind": "deleted", "deleted": deleted}, now_us)
    writer.seal({"kind": "end"}, flush=flush)
    touch(folder)


def touch(folder: Path) -> None:
    """Change the folder's time to one that no coarse clock gives: who remembers it looks again."""
    now = time.time_ns()
    os.utime(folder, ns=(now, now))
