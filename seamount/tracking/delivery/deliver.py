"""One run on its way to one server: passes under a lock, and what is remembered between them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seamount.core import locks
from seamount.core.errors import SeamountError
from seamount.tracking.delivery import state as states
from seamount.tracking.delivery.address import Address
from seamount.tracking.delivery.local_run import LocalRun
from seamount.tracking.delivery.state import State
from seamount.tracking.delivery.targets import Target
from seamount.tracking.store.folder import Store


class Delivery:
    """Made by `begin`, which holds the lock; `state` is what stands in the file."""

    def __init__(self, run: LocalRun, address: Address) -> None:
        self.run, self.address = run, address
        self._path = states.state_file(run.store, address, run.run_id)
        self.state: State = states.load(self._path)

    def save(self) -> None:
        """Write the state."""
        states.save(self._path, self.state)

    @property
    def is_complete(self) -> bool:
        """Whether all was delivered, and no process has opened the run since."""
        return self.state.complete_ns == self.run.folder.stat().st_mtime_ns

    def step(self, target: Target) -> bool:
        """One pass; True where more could be sent at once.

        Raises Unreachable for what may go better later and SeamountError for what this run cannot
        get over; either stands in the state as its `problem` until a pass goes well.
        """
        changed_ns = self.run.folder.stat().st_mtime_ns
        try:
            more = target.send(self.run, self.state, self.save)
            complete = not more and self._ended()
        except SeamountError as error:
            target.forget()
            self.tell(error)
            raise
        self.tell(None)
        if complete and not self.is_complete:
            self.state.complete_ns = changed_ns
            self.save()
        return more

    def _ended(self) -> bool:
        """Whether nothing can come any more: every writer is gone and all it wrote was sent."""
        segments = self.run.segments()
        sent = self.state.positions
        return bool(segments) and all(
            not s.lives and (s.size <= sent.get(s.path.name, 0) or self._is_torn(s.path))
            for s in segments
        )

    def _is_torn(self, path: Path) -> bool:
        """Whether what is left of a file is only the tail of a write that a crash cut."""
        from seamount.tracking.segments.pieces import read_piece

        return not read_piece(path, self.state.positions.get(path.name, 0))

    def tell(self, error: SeamountError | None) -> None:
        """Let the state say what is wrong now, where the logging process looks; None: nothing."""
        problem = None if error is None else str(error)
        if problem != self.state.problem:
            self.state.problem = problem
            self.save()


@contextmanager
def begin(store: Store, run_id: str, address: Address) -> Iterator[Delivery | None]:
    """The delivery of a run, alone; None where another process delivers it, or it is no run yet.

    Raises CorruptData where its run.json is damaged.
    """
    identity = store.identity(run_id)
    if identity is None:
        yield None
        return
    lock = states.lock_file(store, address, run_id)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with locks.tried(lock) as held:
        yield Delivery(LocalRun(store, identity), address) if held else None
