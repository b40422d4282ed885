"""What the logging process is told of its delivery: that a server is gone, once, and back, once."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

from seamount.tracking.delivery import state as states
from seamount.tracking.delivery.address import parse
from seamount.tracking.segments.codec import Header
from seamount.tracking.segments.strands import segment_files
from seamount.tracking.store.folder import Store

log = logging.getLogger("seamount.tracking")

LOOK_S = 2.0
_POLL_S = 0.05


class Notices:
    """Looks at the state that the watcher writes, in a thread that only sleeps and looks."""

    def __init__(self, store: Store, run_id: str, url: str, *, watched: bool) -> None:
        self._folder, self._run_id = store.run_folder(run_id), run_id
        self._url, self._sync = url, f"`seamount track sync {run_id} --to {url}`"
        self._path = states.state_file(store, parse(url), run_id)
        self._told: set[str] = set()
        self._closed = threading.Event()
        if not watched:
            self._tell("watcher", f"nobody delivers it without a watcher: {self._sync} does later")
            return
        threading.Thread(target=self._look_on, daemon=True, name="seamount-notices").start()

    def close(self) -> None:
        """The run is closed: a last look."""
        self._closed.set()
        self._look()

    def wait(self, header: Header, timeout_s: float | None) -> bool:
        """Wait until the server has all that the process of `header` has logged by now."""
        strand = header.file_name.rpartition(".seg")[0].rpartition(".")[0]
        wanted = {
            path.name: path.stat().st_size
            for path in segment_files(self._folder)
            if path.name.startswith(f"{strand}.")
        }
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._has(self._path, wanted):
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(_POLL_S)
        return True

    def _has(self, path: Path, wanted: dict[str, int]) -> bool:
        positions = states.load(path).positions
        return all(positions.get(name, 0) >= size for name, size in wanted.items())

    def _look_on(self) -> None:
        while not self._closed.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        if not self._path.exists():
            return
        state = states.load(self._path)
        if state.problem:
            self._tell("problem", f"{state.problem}; training goes on, and it is tried again")
        elif "problem" in self._told:
            self._tell("well", "delivery goes on, nothing is lost")
        if state.refused_count:
            first = state.refused[0]
            text = f"the server will not take {first['what']} ({first['reason']}); see {self._sync}"
            self._tell("refused", text)

    def _tell(self, what: str, text: str) -> None:
        if what not in self._told:
            self._told.add(what)
            log.warning("run %s, to be delivered to %s: %s", self._run_id, self._url, text)
