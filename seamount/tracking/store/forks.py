"""Forks: what a run takes from another one, up to a step; settled when the run is made.

The parent, the step and the parent's configuration of that moment go into run.json, once.
Points are not copied: readers join them (store/lineage.py).
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.tracking import steps
from seamount.tracking.names import check_run_id

if TYPE_CHECKING:
    from seamount.tracking.store.folder import RunIdentity, Store


@dataclass(frozen=True)
class Fork:
    """Points of `run_id` up to and with `step` come before a run's own ones."""

    run_id: str
    step: int | float
    inherit_configs: bool = True


def asked_for(fork_run_id: str | None, fork_step: Any, inherit_configs: bool) -> Fork | None:
    """The fork that a Run's arguments name, None for none; raises UserError for half of one."""
    if (fork_run_id is None) != (fork_step is None):
        given, lacking = ("fork_run_id", "fork_step") if fork_step is None else (
            "fork_step", "fork_run_id")  # fmt: skip
        raise UserError(f"{given} is given without {lacking}: a fork needs both")
    if fork_run_id is None:
        return None
    if isinstance(fork_step, bool):
        raise UserError(f"fork_step {fork_step!r} is not a number")
    step = steps.check(fork_step)
    if isinstance(step, int) and not -(2**63) <= step < 2**63:
        raise UserError(f"fork_step {step!r} does not fit 64 bits")
    return Fork(check_run_id(fork_run_id), step, inherit_configs)


def parent_of(store: Store, run_id: str, fork: Fork) -> RunIdentity:
    """The identity of the run that `run_id` is to be forked from.

    Raises UserError where it is not in the store, or comes from `run_id` itself.
    """
    if fork.run_id == run_id:
        raise UserError(f"run {run_id!r} cannot be forked from itself: choose another run_id")
    parent = store.identity(fork.run_id)
    if parent is None:
        raise UserError(
            f"fork_run_id {fork.run_id!r} is no run of {store.uri}: log or import it first"
        )
    seen, above = {fork.run_id}, parent.fork_run_id
    while above is not None and above not in seen:
        if above == run_id:
            raise UserError(
                f"run {run_id!r} cannot be forked from {fork.run_id!r}, which comes from it: "
                "choose another run_id"
            )
        seen.add(above)
        identity = store.identity(above)
        above = identity.fork_run_id if identity else None
    return parent


def check_same(found: RunIdentity, fork: Fork | None) -> None:
    """Raise UserError where a run that exists was not forked as asked."""
    if fork is None or (found.fork_run_id, found.fork_step) == (fork.run_id, fork.step):
        return
    is_now = (
        "is no fork" if found.fork_run_id is None
        else f"was forked from {found.fork_run_id!r} at step {found.fork_step!r}"
    )  # fmt: skip
    raise UserError(
        f"run {found.run_id!r} exists and {is_now}, not from {fork.run_id!r} at step "
        f"{fork.step!r}: leave out fork_run_id and fork_step to resume it, or choose another run_id"
    )


def check_stored(found: RunIdentity) -> None:
    """Raise ValueError or UserError where run.json names a fork by halves."""
    if found.fork_run_id is None and found.fork_step is None:
        return
    step = found.fork_step
    if not isinstance(step, int | float) or not math.isfinite(step):
        raise ValueError(f"fork_step {step!r} is not a finite number")
    check_run_id(str(found.fork_run_id))


def configs_of(store: Store, run_id: str) -> dict[str, Any] | None:
    """The newest configuration of a run as it stands now, None if it logged none."""
    from seamount.tracking.store.ingest import ingest

    with store.index() as index:
        # A trainer that has numpy loaded anyway reads a long parent many times faster with it.
        ingest(store, index, run_id, light="numpy" not in sys.modules)
        snapshots = index.configs(run_id)
    return snapshots[-1]["values"] if snapshots else None
