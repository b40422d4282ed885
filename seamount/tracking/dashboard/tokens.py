"""Signed read-only tokens: `ID.SIGNATURE`; what one allows lies in the store, and goes with it.

The signature is an HMAC-SHA256 over the id and the stored claims, by a secret that only the store's
owner can read: a claim edited by another hand, or one made up, opens nothing. Revoking a token
removes its claims; a new secret (delete the file) ends all tokens and logins at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seamount.core import storage
from seamount.core.errors import UserError
from seamount.core.registry import unknown
from seamount.tracking.store.folder import Store

_ID = re.compile(r"[A-Za-z0-9_-]{12}")
_MAX_DAYS = 3650
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Claims:
    """What a read-only token shows: one project, or the runs of a view, until `expires` (seconds
    since 1970 UTC). `runs` is a RunSelection as JSON, fixed when the token was made."""

    id: str
    created: int
    expires: int
    project: str | None = None
    view: str | None = None
    runs: dict[str, Any] | None = None
    note: str = ""


def folder_of(store: Store) -> Path:
    """Where the dashboard keeps its own files in a store; for the owner only."""
    folder = store.folder / "dashboard"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def secret(store: Store) -> bytes:
    """The store's secret, made on the first call; 0600."""
    path = folder_of(store) / "secret"
    temporary = path.with_name(f".secret.{os.getpid()}.{os.urandom(4).hex()}")
    if not path.exists():
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(os.urandom(_SECRET_BYTES))
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass  # another process was faster; its secret counts
        finally:
            temporary.unlink()
    return path.read_bytes()


def sign(store: Store, what: str) -> str:
    """The signature of a text under the store's secret."""
    found = hmac.new(secret(store), what.encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(found[:24]).decode()


def issue(
    store: Store,
    *,
    project: str | None = None,
    view: str | None = None,
    runs: dict[str, Any] | None = None,
    days: float = 30,
    note: str = "",
) -> str:
    """A new read-only token for a project, or for the runs of a view; raises UserError."""
    if project is None and runs is None:
        raise UserError("a read-only token must name a project, or the runs of a view")
    if not 0 < days <= _MAX_DAYS:
        raise UserError(f"a token may live up to {_MAX_DAYS} days, not {days}")
    identity = base64.urlsafe_b64encode(os.urandom(9)).decode()
    now = int(time.time())
    claims = Claims(identity, now, now + int(days * 86400), project, view, runs, note[:200])
    path = _path(store, identity)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    storage.write_json(str(path), asdict(claims))
    return f"{identity}.{_signature(store, claims)}"


def read(store: Store, token: str) -> Claims | None:
    """What `token` allows now; None where it is none of ours, expired or revoked."""
    identity, _, signature = token.partition(".")
    if not _ID.fullmatch(identity):
        return None
    claims = _stored(_path(store, identity))
    if claims is None or claims.id != identity or claims.expires < time.time():
        return None
    expected = _signature(store, claims)
    same = hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
    return claims if same else None


def revoke(store: Store, identity: str) -> None:
    """End a token; raises UserError where there is none of this id."""
    if not _ID.fullmatch(identity) or not _path(store, identity).exists():
        raise unknown("token", identity, [claims.id for claims in issued(store)])
    _path(store, identity).unlink()


def issued(store: Store) -> list[Claims]:
    """Every token that was not revoked, newest first."""
    paths = (folder_of(store) / "tokens").glob("*.json")
    found = [claims for path in paths if (claims := _stored(path)) is not None]
    return sorted(found, key=lambda claims: (-claims.created, claims.id))


def _path(store: Store, identity: str) -> Path:
    return folder_of(store) / "tokens" / f"{identity}.json"


def _stored(path: Path) -> Claims | None:
    try:
        return Claims(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _signature(store: Store, claims: Claims) -> str:
    return sign(store, f"token|{json.dumps(asdict(claims), sort_keys=True)}")
