"""Who may see and do what.

On this machine alone (no token set, and the Host header a loopback name, so that no foreign page
can reach it by a rebound name) everybody may do all. Where a token is set it is demanded: as Bearer
or Basic from programs, as a login from browsers. A signed read-only token (`?share=` in the
address, or Bearer) shows its project or runs and nothing else, and never writes.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.types import Scope

from seamount.core.http import is_loopback, token_matches
from seamount.tracking.dashboard import tokens
from seamount.tracking.dashboard.spec import RunSelection
from seamount.tracking.store.folder import Store

_SESSION_S = 30 * 86400
_SAFE = ("GET", "HEAD", "OPTIONS")


class Refused(Exception):
    """A request that may not be answered; `status` is HTTP's."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Visitor:
    """Who asks. `project` and `runs` bound what a read-only visitor sees; both None: everything."""

    writes: bool = True
    project: str | None = None
    runs: RunSelection | None = None
    token_id: str | None = None

    @property
    def bounded(self) -> bool:
        """Whether only a part of the store is visible."""
        return self.project is not None or self.runs is not None


OWNER = Visitor()


@dataclass(frozen=True)
class Access:
    """The rules of one server on one store; `token` None: this machine only."""

    store: Store
    token: str | None = None

    def visitor(self, request: HTTPConnection) -> Visitor:
        """Who asks; raises Refused (401, 403)."""
        found = self._who(request)
        method = request.scope.get("method", "GET")
        if method not in _SAFE:
            if not found.writes:
                raise Refused(403, "this link can be read only: ask its owner to make changes")
            if not _same_origin(request):
                raise Refused(403, "a page of another address may not write here")
        return found

    def _who(self, request: HTTPConnection) -> Visitor:
        share = request.query_params.get("share")
        if share is not None:
            return self._shared(share)
        header = request.headers.get("authorization")
        if self.token is None:
            if not is_loopback(request.headers.get("host", "")):
                raise Refused(403, "without a token only this machine's own names are answered")
            return self._bearer(header) or OWNER
        if token_matches(header, self.token) or self._session(request):
            return OWNER
        if (found := self._bearer(header)) is not None:
            return found
        raise Refused(401, "this server demands its token: log in, or send it as Bearer")

    def _bearer(self, header: str | None) -> Visitor | None:
        scheme, _, given = (header or "").partition(" ")
        return self._shared(given.strip()) if scheme.lower() == "bearer" else None

    def _shared(self, token: str) -> Visitor:
        claims = tokens.read(self.store, token)
        if claims is None:
            raise Refused(401, "this link has expired or was withdrawn: ask for a new one")
        runs = None if claims.runs is None else RunSelection.model_validate_json(_json(claims.runs))
        return Visitor(False, claims.project, runs, claims.id)

    @property
    def cookie(self) -> str:
        """Name of the login cookie; another for each store, since ports share cookies."""
        name = hashlib.sha256(str(self.store.folder).encode()).hexdigest()
        return f"seamount_{name[:10]}"

    def login(self, given: str) -> tuple[str, int] | None:
        """(cookie's value, seconds it lives) if `given` is the token."""
        if self.token is None or not hmac.compare_digest(
            given.strip().encode("utf-8", "replace"), self.token.encode()
        ):
            return None
        end = int(time.time()) + _SESSION_S
        return f"{end}.{self._signed(end)}", _SESSION_S

    def logged_in(self, scope: Scope) -> bool:
        """Whether a browser that logged in asks, from a page of this address where it writes."""
        request = HTTPConnection(scope)
        safe = scope.get("method", "GET") in _SAFE
        return self._session(request) and (safe or _same_origin(request))

    def _session(self, request: HTTPConnection) -> bool:
        end, _, signature = request.cookies.get(self.cookie, "").partition(".")
        if not end.isascii() or not end.isdecimal() or len(end) > 12 or int(end) < time.time():
            return False
        expected = self._signed(int(end)).encode()
        return hmac.compare_digest(expected, signature.encode("utf-8", "replace"))

    def _signed(self, end: int) -> str:
        token = hashlib.sha256((self.token or "").encode()).hexdigest()
        return tokens.sign(self.store, f"session|{end}|{token}")


def _same_origin(request: HTTPConnection) -> bool:
    """Whether no page of another address sends this; programs send no Origin."""
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
