"""One ASGI application: deliveries at /api/seamount/, the dashboard at / and /api/v1/, MLflow's UI
at /mlflow/, and every other path MLflow's too, so that its clients find all where they expect it.

Clients of every kind send the same token: `Authorization: Bearer`, as MLflow's own do with
MLFLOW_TRACKING_TOKEN, or a browser's Basic with the token as password.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from seamount import __version__
from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError
from seamount.core.http import is_loopback, token_matches
from seamount.tracking.dashboard import app as dashboard
from seamount.tracking.dashboard.access import Access
from seamount.tracking.server.held import Busy
from seamount.tracking.server.receive import (
    MAX_BODY_BYTES,
    MAX_IDENTITY_BYTES,
    Elsewhere,
    Receiver,
    digest_matches,
)
from seamount.tracking.store.folder import VERSION, Store

PREFIX = "/api/seamount/"
_OPEN_PATHS = ("/health",)  # says nothing but that somebody is there
_MLFLOW_UI = "/mlflow"

Answer = Callable[[Request], Awaitable[Response]]


def application(store: Store, token: str | None, mlflow: ASGIApp | None) -> ASGIApp:
    """The server of a store; without `token` it answers to this machine's own names only."""
    access = Access(store, token)
    pages = Starlette(routes=dashboard.routes(store, access))
    receiver = Receiver(store)
    receiver.held.expire_for_ever()
    own = api(receiver)

    others = own if mlflow is None else below(mlflow, _MLFLOW_UI)

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        # The life of the process is MLflow's to know about; ours needs none.
        path = scope.get("path", "")
        ours = path.startswith(PREFIX) or path in _OPEN_PATHS
        await (own if ours else others)(scope, receive, send)

    guarded = Guard(choose, access)

    async def first(scope: Scope, receive: Receive, send: Send) -> None:
        # The dashboard asks for itself: its pages lead to a login, its links may be read-only.
        http = scope["type"] == "http" and dashboard.owns(scope["path"])
        await (pages if http else guarded)(scope, receive, send)

    return first


def below(app: ASGIApp, prefix: str) -> ASGIApp:
    """`app`, also under `prefix`, which it does not see."""

    async def passed(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if path == prefix:  # its page names its files relative to a folder
            await RedirectResponse(prefix + "/")(scope, receive, send)
            return
        if path.startswith(prefix + "/"):
            inner = path.removeprefix(prefix)
            scope = dict(scope) | {"path": inner, "raw_path": inner.encode()}
        await app(scope, receive, send)

    return passed


class Guard:
    """Asks for the token, where there is one, before anything else is looked at."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._token, self._access = app, access.token, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be asked; else 401, or 403 for a name that is not this machine's."""
        refusal = None if scope["type"] == "lifespan" else self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        if scope["path"] in _OPEN_PATHS:
            return None
        if self._token is not None:
            if token_matches(headers.get("authorization"), self._token):
                return None
            if self._access.logged_in(scope):
                return None
            ask = {"WWW-Authenticate": 'Basic realm="seamount: any name, the token as password"'}
            return _failure(401, "this server demands its token", headers=ask)
        if not scope["path"].startswith(PREFIX):
            return None  # MLflow checks names and origins itself
        if not is_loopback(headers.get("host", "")) or "origin" in headers:
            return _failure(403, "without a token only programs of this machine may ask")
        return None


def api(receiver: Receiver) -> Starlette:
    """Our own API over `receiver`."""

    async def server(request: Request) -> Response:
        return JSONResponse({"seamount": __version__, "store_version": VERSION})

    async def describe(request: Request) -> Response:
        return await _called(receiver.describe, request.path_params["run"])

    async def create(request: Request) -> Response:
        body = await _body(request, MAX_IDENTITY_BYTES)
        return await _called(receiver.create, request.path_params["run"], body)

    async def append(request: Request) -> Response:
        body, at = await _body(request, MAX_BODY_BYTES), _number(request, "offset")
        run, name = request.path_params["run"], request.path_params["name"]
        lives = request.query_params.get("lives") == "1"
        return await _called(receiver.append, run, name, at, body, lives=lives)

    async def blob(request: Request) -> Response:
        return await _called(receiver.blob, request.path_params["digest"])

    async def append_blob(request: Request) -> Response:
        body, at = await _body(request, MAX_BODY_BYTES), _number(request, "offset")
        digest, total = request.path_params["digest"], _number(request, "total")
        return await _called(receiver.append_blob, digest, at, total, body)

    runs = PREFIX + "v1/runs/{run}"
    blobs = PREFIX + "v1/blobs/{digest}"
    return Starlette(
        routes=[
            Route(PREFIX + "v1/server", _told(server)),
            Route(runs, _told(describe), methods=["GET"]),
            Route(runs, _told(create), methods=["PUT"]),
            Route(runs + "/segments/{name}", _told(append), methods=["POST"]),
            Route(blobs, _told(blob), methods=["GET"]),
            Route(blobs, _told(append_blob), methods=["POST"]),
            Route("/health", lambda _: Response("OK")),
        ]
    )


def _told(answer: Answer) -> Answer:
    """`answer` with our errors as status and sentence; the client knows which to try again."""

    async def told(request: Request) -> Response:
        try:
            return await answer(request)
        except Elsewhere as error:
            return _failure(409, str(error), size=error.size_bytes)
        except UserError as error:
            return _failure(400, str(error))
        except CorruptData as error:
            return _failure(422, str(error))
        except DiskFull as error:
            return _failure(507, str(error))
        except (Busy, OSError) as error:
            return _failure(503, str(error))
        except SeamountError as error:
            return _failure(500, str(error))

    return told


def _failure(
    status: int, text: str, headers: dict[str, str] | None = None, **more: Any
) -> Response:
    return JSONResponse({"error": text, **more}, status, headers)


async def _called(
    function: Callable[..., dict[str, Any]], *values: Any, **options: Any
) -> Response:
    """What `function` answers in a thread: it waits for files."""
    return JSONResponse(await asyncio.to_thread(function, *values, **options))


async def _body(request: Request, limit: int) -> bytes:
    """The request's body, bounded, and equal to what the sender's digest says."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise UserError(f"more than {limit} bytes in one request")
        pieces.append(piece)
    content = b"".join(pieces)
    if not digest_matches(content, request.headers.get("x-content-sha256")):
        raise Busy("the content does not have the SHA-256 that was sent with it: send again")
    return content


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise UserError(f"{name}={text[:20]!r} is not a count of bytes")
    return int(text)
