"""What delivery needs of a server, whatever its kind."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable

from seamount.core.errors import SeamountError, UserError
from seamount.tracking.delivery import address as addresses
from seamount.tracking.delivery.address import Address
from seamount.tracking.delivery.connection import Connection, Refused
from seamount.tracking.delivery.local_run import LocalRun
from seamount.tracking.delivery.state import State, known_kind, remember_kind
from seamount.tracking.store.folder import Store

Save = Callable[[], None]


class Target(ABC):
    """A server; one run after the other is sent to it, by one thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @abstractmethod
    def send(self, run: LocalRun, state: State, save: Save) -> bool:
        """Send a bounded part of what is behind; True where more could be sent at once.

        Changes `state` only by what the server has said it has, and calls `save` when that should
        survive. Raises Unreachable where it must be tried again; then nothing is lost.
        """

    @abstractmethod
    def forget(self) -> None:
        """After a failure: believe nothing that the server said before."""


def open_target(store: Store, address: Address) -> Target:
    """The target at `address`; asks it what it is, the first time. Raises Unreachable."""
    from seamount.tracking.delivery.mlflow_rest import MlflowServer
    from seamount.tracking.delivery.seamount_http import SeamountServer

    connection = Connection(address)
    kind = address.kind or known_kind(store, address)
    if kind is None:
        try:
            kind = _ask(connection)
        except SeamountError:
            connection.close()
            raise
        remember_kind(store, address, kind)
    return MlflowServer(connection) if kind == addresses.MLFLOW else SeamountServer(connection)


def _ask(connection: Connection) -> str:
    """SEAMOUNT or MLFLOW; UserError for a server that is neither."""
    try:
        if "seamount" in connection.request("GET", "/api/seamount/v1/server").json():
            return addresses.SEAMOUNT
    except Refused as error:
        if error.status not in (404, 405, 501):
            raise
    body = json.dumps({"max_results": 1}).encode()
    how = {"Content-Type": "application/json"}
    path = "/api/2.0/mlflow/experiments/search"
    try:
        connection.request("POST", path, body, headers=how).json()
    except Refused as error:
        raise UserError(
            f"{connection.address.url} is neither a seamount nor an MLflow server "
            f"({error.status} for {path}): check the address and its path"
        ) from error
    return addresses.MLFLOW
