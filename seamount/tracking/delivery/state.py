"""What a store remembers of a run's delivery to one server: how far it is and what went wrong.

delivery/SERVER/target.json   address and kind of the server; no token
delivery/SERVER/RUN.json      the State below
delivery/SERVER/RUN.lock      held by the one process that delivers the run there
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seamount.core import storage
from seamount.tracking.delivery.address import Address
from seamount.tracking.names import check_run_id
from seamount.tracking.store.folder import Store

FORMAT = 1
MAX_NAMED = 100


@dataclass
class State:
    """`positions` (file -> bytes) are what the server has said it has, or may be sent again.

    `sent` counts points, files and other things; `refused` names the first things that the server
    will not take, `refused_count` counts all; `left_out` counts what it has no place for. `problem`
    is why nothing can be sent now. `complete_ns` is the folder's time of change when all was
    delivered and could not grow. `remote` is what the kind of target keeps (MLflow's run id, ...).
    """

    positions: dict[str, int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    refused: list[dict[str, str]] = field(default_factory=list)
    refused_count: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    complete_ns: int = 0
    remote: dict[str, Any] = field(default_factory=dict)
    format: int = FORMAT

    def count(self, what: str, number: int = 1) -> None:
        """Count `number` of `what` as sent."""
        if number:
            self.sent[what] = self.sent.get(what, 0) + number

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count what this kind of server has no place for."""
        self.left_out[what] = self.left_out.get(what, 0) + number

    def refuse(self, what: str, reason: str) -> None:
        """Put aside what the server will never take; the same thing counts once."""
        if any(known["what"] == what[:300] for known in self.refused):
            return
        self.refused_count += 1
        if len(self.refused) < MAX_NAMED:
            self.refused.append({"what": what[:300], "reason": reason[:300]})


def folder(store: Store, address: Address) -> Path:
    """Folder of what is remembered of a server."""
    return store.folder / "delivery" / address.folder_name


def state_file(store: Store, address: Address, run_id: str) -> Path:
    """File of a run's State."""
    return folder(store, address) / f"{check_run_id(run_id)}.json"


def lock_file(store: Store, address: Address, run_id: str) -> Path:
    """File that the one who delivers a run holds locked."""
    return folder(store, address) / f"{check_run_id(run_id)}.lock"


def load(path: Path) -> State:
    """The State in a file, a fresh one where there is none or it makes no sense."""
    try:
        found = State(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return State()  # safe: what was sent before is then found at the server, or sent again
    return found if found.format == FORMAT else State()


def save(path: Path, state: State) -> None:
    """Write the State atomically."""
    storage.write_json(str(path), asdict(state))


def known_kind(store: Store, address: Address) -> str | None:
    """The kind of server that once answered there, None if nobody has yet."""
    try:
        return str(json.loads((folder(store, address) / "target.json").read_bytes())["kind"])
    except (OSError, ValueError, KeyError):
        return None


def remember_kind(store: Store, address: Address, kind: str) -> None:
    """Keep the kind: a proxy's passing 404 must not make us take a server for another."""
    path = folder(store, address) / "target.json"
    storage.write_json(str(path), {"url": address.url, "kind": kind})
