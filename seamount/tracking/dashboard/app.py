"""The dashboard as Starlette routes: the page, its files, its API. A new noun is one line here."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from seamount.tracking.dashboard import assets, static
from seamount.tracking.dashboard.access import Access, Refused, Visitor
from seamount.tracking.dashboard.answers import answered, body_of, failure, in_thread, json_response
from seamount.tracking.dashboard.api.charts import ChartsApi
from seamount.tracking.dashboard.api.compare import CompareApi
from seamount.tracking.dashboard.api.files import FilesApi
from seamount.tracking.dashboard.api.live import LiveApi
from seamount.tracking.dashboard.api.runs import RunsApi
from seamount.tracking.dashboard.run_data import RunData
from seamount.tracking.store.folder import Store

PREFIXES = ("/static/", "/api/v1/", "/login", "/logout", "/s/")
_LOGIN_BYTES = 4096


def owns(path: str) -> bool:
    """Whether a path is the dashboard's; others are for those beside it (MLflow, deliveries)."""
    return path in ("", "/") or path.startswith(PREFIXES)


def routes(store: Store, access: Access) -> list[BaseRoute]:
    """All that the dashboard answers on `store`, by the rules of `access`."""
    data = RunData(store)
    threading.Thread(target=data.warm, daemon=True, name="seamount-warm").start()
    runs, charts, live = RunsApi(data), ChartsApi(data), LiveApi(data, access)
    compare = CompareApi(data)
    nouns = [
        ("runs", runs.table, ["GET"]),
        ("columns", runs.columns, ["GET"]),
        ("chart", charts.chart, ["GET"]),
        ("metrics", charts.metrics, ["GET"]),
        ("live", live.live, ["GET"]),
        ("compare", compare.compare, ["GET"]),
        ("media", compare.media, ["GET"]),
        ("file", FilesApi(data).file, ["GET"]),
        ("me", _me, ["GET"]),
    ]
    return [
        *(Route(f"/api/v1/{n}", answered(access, f), methods=m) for n, f, m in nouns),
        Route("/api/v1/{rest:path}", lambda _: failure(404, "there is no such address in the API")),
        *_doors(access),
    ]


def _doors(access: Access) -> list[BaseRoute]:
    """The page and the ways in."""

    async def index(request: Request) -> Response:
        try:
            await in_thread(access.visitor, request)
        except Refused as error:
            if error.status == 401 and "share" not in request.query_params:
                return RedirectResponse("/login" + _back(request), 302)
            return Response(f"{error}\n", error.status, media_type="text/plain")
        return static.page()

    async def login_page(request: Request) -> Response:
        return static.page(assets.PAGE / "login.html")

    async def login(request: Request) -> Response:
        return await _login(access, request)

    async def logout(request: Request) -> Response:
        answer = json_response({"ok": True})
        answer.delete_cookie(access.cookie, path="/")
        return answer

    return [
        Route("/", index),
        Route("/login", login_page, methods=["GET"]),
        Route("/login", login, methods=["POST"]),
        Route("/logout", logout, methods=["POST"]),
        Route("/static/{name:path}", static.static_file),
    ]


async def _me(request: Request, visitor: Visitor) -> Response:
    """What this visitor may do."""
    return json_response(
        {"writes": visitor.writes, "bounded": visitor.bounded, "project": visitor.project}
    )


async def _login(access: Access, request: Request) -> Response:
    import asyncio

    try:
        given = (await body_of(request, _LOGIN_BYTES)).decode("utf-8", "replace")
    except Refused as error:
        return failure(error.status, str(error))
    found = await in_thread(access.login, given)
    if found is None:
        await asyncio.sleep(0.5)  # guessing takes its time
        return failure(401, "this is not the server's token: look at how it was started")
    answer = json_response({"ok": True})
    value, seconds = found
    secure = request.url.scheme == "https"
    answer.set_cookie(
        access.cookie,
        value,
        max_age=seconds,
        path="/",
        httponly=True,
        samesite="lax",
        secure=secure,
    )
    return answer


def _back(request: Request) -> str:
    """Where a login leads: the view that was asked for, on this server only."""
    query = urlsplit(str(request.url)).query
    return f"?{query}" if query else ""
