"""What `seamount track sync` does: every run of a store to a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict
from typing import Any

from seamount.core.errors import SeamountError, UserError
from seamount.tracking.delivery import state as states
from seamount.tracking.delivery.address import Address, parse
from seamount.tracking.delivery.backoff import Backoff
from seamount.tracking.delivery.connection import Denied, Unreachable
from seamount.tracking.delivery.deliver import Delivery, begin
from seamount.tracking.delivery.local_run import LocalRun, left_behind
from seamount.tracking.delivery.state import State
from seamount.tracking.delivery.targets import Target, open_target
from seamount.tracking.store.folder import Store

Told = Callable[[str, int], None]
Row = dict[str, Any]

DELIVERED, NOTHING_NEW, LEFT = "delivered", "nothing new", "left"
PATIENCE_S = 30.0


def sync(
    store: Store,
    runs: Sequence[str],
    to: str,
    *,
    again: bool = False,
    patience_s: float = PATIENCE_S,
    told: Told = lambda run_id, amount: None,
) -> dict[str, Any]:
    """Send what `to` has not got of `runs` (all of the store's, if none are named).

    Returns {"to", "kind", "runs": [{"run_id", "outcome", "sent", "left", "refused", ...}]}. A
    server that does not answer is tried for `patience_s`; then what is left is counted. `again`
    forgets what is known of the server and of what it refused. `told(run id, bytes)` hears of
    progress.
    """
    address = parse(to)
    wanted = _wanted(store, runs)
    with closing(_Sender(store, address, patience_s, told)) as sender:
        rows = [sender.send(run_id, again) for run_id in wanted]
        return {"to": address.url, "kind": sender.kind, "runs": rows}


def _wanted(store: Store, runs: Sequence[str]) -> list[str]:
    there = store.run_ids()
    unknown = [run for run in runs if run not in there]
    if unknown:
        raise UserError(f"no run {unknown[0]!r} in this store: `seamount track ls` lists them")
    return list(dict.fromkeys(runs)) or there


class _Sender:
    """Sends run after run; once a server has been given up, the others are only counted."""

    def __init__(self, store: Store, address: Address, patience_s: float, told: Told) -> None:
        self._store, self._address, self._patience_s = store, address, patience_s
        self._told = told
        self._target: Target | None = None
        self._given_up: str | None = None

    @property
    def kind(self) -> str | None:
        """The kind of the server, None if it never answered."""
        return self._address.kind or states.known_kind(self._store, self._address)

    def close(self) -> None:
        """Close the connection."""
        if self._target is not None:
            self._target.connection.close()

    def send(self, run_id: str, again: bool) -> Row:
        """Deliver one run as far as it goes, and say how far that is."""
        try:
            with begin(self._store, run_id, self._address) as delivery:
                if delivery is None:
                    return self._held_elsewhere(run_id)
                if again:
                    delivery.state = State()
                return self._deliver(delivery)
        except SeamountError as error:
            return {"run_id": run_id, "outcome": LEFT, "problem": str(error), "sent": {}}

    def _held_elsewhere(self, run_id: str) -> Row:
        identity = self._store.identity(run_id)
        if identity is None:
            return {"run_id": run_id, "outcome": NOTHING_NEW, "sent": {}, "problem": None}
        state = states.load(states.state_file(self._store, self._address, run_id))
        delivery = Delivery(LocalRun(self._store, identity), self._address)
        delivery.state = state
        row = _row(delivery, {}, "its watcher (or another sync) delivers it now")
        return row

    def _deliver(self, delivery: Delivery) -> Row:
        before, problem = dict(delivery.state.sent), None
        if delivery.is_complete:
            return _row(delivery, before, None)
        try:
            self._passes(delivery)
        except SeamountError as error:
            problem = str(error)
        return _row(delivery, before, problem)

    def _passes(self, delivery: Delivery) -> None:
        """Passes until nothing is left; a server that fails is tried again for a while."""
        if self._given_up:
            raise SeamountError(self._given_up)
        backoff, until = Backoff(), time.monotonic() + self._patience_s
        more = True
        while more:
            sent_bytes = sum(delivery.state.positions.values())
            try:
                self._target = self._target or open_target(self._store, self._address)
                more = delivery.step(self._target)
            except Unreachable as error:
                delivery.tell(error)
                if isinstance(error, Denied) or time.monotonic() > until:
                    self._given_up = str(error)
                    raise
                time.sleep(min(backoff.next_s(error.after_s), self._patience_s))
                continue
            backoff.reset()
            until = time.monotonic() + self._patience_s
            self._told(delivery.run.run_id, sum(delivery.state.positions.values()) - sent_bytes)


def _row(delivery: Delivery, before: dict[str, int], problem: str | None) -> Row:
    state = delivery.state
    sent = {k: n - before.get(k, 0) for k, n in state.sent.items() if n != before.get(k, 0)}
    left = asdict(left_behind(delivery.run, state.positions))
    behind = any(left.values())
    return {
        "run_id": delivery.run.run_id,
        "name": delivery.run.identity.name,
        "outcome": LEFT if behind or problem else DELIVERED if sent else NOTHING_NEW,
        "sent": sent,
        "left": left,
        "refused": state.refused_count,
        "refused_first": state.refused,
        "left_out": state.left_out,
        "problem": problem,
    }


def behind_bytes(store: Store, runs: Sequence[str], to: str) -> int:
    """About how many bytes of segments `sync` has to send: the total of a progress bar."""
    address, total = parse(to), 0
    for run_id in _wanted(store, runs):
        positions = states.load(states.state_file(store, address, run_id)).positions
        for path in store.run_folder(run_id).glob("*.seg"):
            total += max(0, path.stat().st_size - positions.get(path.name, 0))
    return total
