"""MLflow: a folder of files (mlruns), an mlflow.db, or any tracking URI (over MLflow's client)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.tracking.importing import mlflow_client, mlflow_database, mlflow_files, places
from seamount.tracking.importing.records import Origin, SourceRun, Unreadable

_SQLITE = "sqlite:///"
_MAGIC = b"SQLite format 3\x00"


def recognises(address: str) -> bool:
    """Whether `address` is MLflow's: its folder, its database, or the URI of a server."""
    if "://" in address and not storage.is_local(address):
        return address.startswith(
            ("http://", "https://", "sqlite:", "postgresql", "mysql", "mssql")
        )
    path = places.resolve(address)
    return (
        _is_database(path) or bool(mlflow_files.experiments(path)) or _database_in(path) is not None
    )


def runs(origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """Every run of every experiment, deleted ones included."""
    address = origin.address
    if address.startswith(_SQLITE):
        address = address.removeprefix(_SQLITE)
    elif "://" in address and not storage.is_local(address):
        return mlflow_client.runs(origin)
    path = places.resolve(address)
    if _is_database(path):
        return mlflow_database.runs(path, origin)
    if mlflow_files.experiments(path):
        return mlflow_files.runs(path, origin)
    inner = _database_in(path)
    if inner is not None:
        return mlflow_database.runs(inner, origin)
    raise UserError(
        f"{origin.address!r} is no MLflow store: give mlruns, mlflow.db or a server's URI"
    )


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC


def _database_in(path: Path) -> Path | None:
    inner = path / "mlflow.db"
    return inner if _is_database(inner) else None
