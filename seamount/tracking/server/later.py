"""An application that is made when it is first asked for: MLflow's takes some ten seconds to load,
and whoever only looks at the dashboard need not wait for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send


class Later:
    """Loads the application in a thread at its first request; the others wait with that one."""

    def __init__(self, load: Callable[[], Any]) -> None:
        self._load = load
        self._loading: asyncio.Task[Any] | None = None
        self._life = contextlib.AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, once the application is there."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if self._loading is None:
            self._loading = asyncio.create_task(self._start())
        app: ASGIApp = await asyncio.shield(self._loading)
        await app(scope, receive, send)

    async def _start(self) -> Any:
        app = await asyncio.to_thread(self._load)
        await self._life.enter_async_context(app.router.lifespan_context(app))
        return app

    async def _live(self, receive: Receive, send: Send) -> None:
        """The server's life; the application's own begins when it is loaded."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        with contextlib.suppress(Exception):  # the process ends anyway
            await self._life.aclose()
        await send({"type": "lifespan.shutdown.complete"})
