"""Files of a run to where an MLflow server keeps artifacts."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import quote, urlsplit

from seamount.core.errors import SeamountError, UserError
from seamount.tracking.delivery.connection import ANSWER_S, Connection, Refused, Unreachable

_PROXY = "/api/2.0/mlflow-artifacts/artifacts"
_SLOWEST_BYTES_A_SECOND = 5e6


def send_file(connection: Connection, artifact_uri: str, name: str, source: Path) -> str | None:
    """Put the file under `name` (again, if it is there); returns why it never will be, else None.

    Through the server where it serves artifacts, else to the bucket that it names (with what
    fsspec can open here). Raises Unreachable.
    """
    if not source.is_file():
        return "its content is gone from this store"
    parts = urlsplit(artifact_uri)
    if parts.scheme == "mlflow-artifacts" and not parts.netloc:
        return _through_server(connection, f"{_PROXY}{parts.path.rstrip('/')}/", name, source)
    if parts.scheme in ("", "file", "http", "https", "mlflow-artifacts", "dbfs"):
        return (
            f"the server keeps artifacts at {artifact_uri[:100]!r}, which cannot be reached from "
            "here: start it with --serve-artifacts and make a new experiment"
        )
    return _to_bucket(f"{artifact_uri.rstrip('/')}/{name}", source)


def _through_server(connection: Connection, folder: str, name: str, source: Path) -> str | None:
    size = source.stat().st_size
    headers = {"Content-Length": str(size), "Content-Type": "application/octet-stream"}
    patience_s = ANSWER_S + size / _SLOWEST_BYTES_A_SECOND
    path = quote(folder + name, safe="/")
    try:
        with source.open("rb") as stream:
            connection.request("PUT", path, stream, headers=headers, answer_s=patience_s)
    except Refused as error:
        return str(error)
    return None


def _to_bucket(url: str, source: Path) -> str | None:
    from seamount.core import storage

    try:
        with source.open("rb") as stream, storage.atomic_write(url) as out:
            shutil.copyfileobj(stream, out, 1 << 20)
    except UserError as error:
        return str(error)
    except SeamountError as error:  # the bucket's network, say
        raise Unreachable(str(error)) from error
    return None
