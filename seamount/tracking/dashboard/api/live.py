"""GET /api/v1/live: what changed since a cursor, as server-sent events; only new points travel.

The cursor is an event's id, which a browser sends back as Last-Event-ID when it comes again: the
index's id and revision, and how far each growing segment of the watched runs had been read. An
index that was made anew meanwhile is told as `reset`: the page then asks for all it shows.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Access, Refused, Visitor
from seamount.tracking.dashboard.answers import failure, in_thread
from seamount.tracking.dashboard.api.charts import chart_spec
from seamount.tracking.dashboard.new_points import news, positions
from seamount.tracking.dashboard.run_data import RunData, Runs
from seamount.tracking.dashboard.spec import ChartSpec
from seamount.tracking.query.patterns import Pattern, compile_pattern

MAX_LISTENERS = 64
_BEAT_S = 15.0
_MAX_CURSOR = 60_000
_MAX_CHANGED = 1_000


@dataclass
class Cursor:
    """A moment of the store, as a client carries it."""

    index_id: str = ""
    revision: int = -1
    positions: dict[int, int] = field(default_factory=dict)

    def __str__(self) -> str:
        packed = zlib.compress(json.dumps([self.index_id, self.revision, self.positions]).encode())
        return base64.urlsafe_b64encode(packed).decode()

    @classmethod
    def read(cls, text: str | None) -> Cursor:
        """What `str` made; a new one for none, raises UserError for another text."""
        if not text:
            return cls()
        try:
            if len(text) > _MAX_CURSOR:
                raise ValueError
            packed = zlib.decompressobj().decompress(base64.urlsafe_b64decode(text), 1 << 20)
            index_id, revision, found = json.loads(packed)
            return cls(str(index_id), int(revision), {int(k): int(v) for k, v in found.items()})
        except (ValueError, TypeError, AttributeError, zlib.error) as error:
            raise UserError("the cursor is none of ours: begin without one") from error


class LiveApi:
    """Streams changes of the runs in `data`."""

    def __init__(self, data: RunData, access: Access) -> None:
        self._data, self._access = data, access
        self._listeners = 0

    async def live(self, request: Request, visitor: Visitor) -> Response:
        """?spec=ChartSpec (whose metrics and runs are watched; none: runs alone)&cursor="""
        if self._listeners >= MAX_LISTENERS:
            return failure(503, f"{MAX_LISTENERS} pages listen already: close one, then reload")
        spec = chart_spec(request) if "spec" in request.query_params else None
        given = request.headers.get("last-event-id") or request.query_params.get("cursor")
        stream = self._events(request, spec, Cursor.read(given))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(stream, headers=headers, media_type="text/event-stream")

    async def _events(
        self, request: Request, spec: ChartSpec | None, cursor: Cursor
    ) -> AsyncIterator[bytes]:
        self._listeners += 1
        pattern = None if spec is None else compile_pattern(spec.metrics)
        try:
            yield b"retry: 1000\n\n"
            beat = time.monotonic()
            while not await request.is_disconnected():
                try:  # a link that was withdrawn falls silent
                    visitor = await in_thread(self._access.visitor, request)
                except Refused as error:
                    yield _event("refused", {"error": str(error)})
                    return
                kind, event = await in_thread(self._look, visitor, spec, pattern, cursor)
                if event is not None:
                    yield _event(kind, event, cursor)
                    beat = time.monotonic()
                elif time.monotonic() - beat > _BEAT_S:
                    yield b": still here\n\n"
                    beat = time.monotonic()
                await asyncio.sleep(self._data.fresh.pause_s)
        finally:
            self._listeners -= 1

    def _look(
        self, visitor: Visitor, spec: ChartSpec | None, pattern: Pattern | None, cursor: Cursor
    ) -> tuple[str, dict[str, Any] | None]:
        """What is new since `cursor`, which moves on; None where nothing is."""
        with self._data.now(max_age_s=0.3) as runs:
            if cursor.index_id != runs.index_id:
                kind = "reset" if cursor.index_id else "hello"
                self._move(runs, visitor, spec, cursor)
                return kind, {"revision": runs.revision}
            if cursor.revision >= runs.revision:
                return "", None
            event = self._changes(runs, visitor, spec, pattern, cursor)
            self._move(runs, visitor, spec, cursor)
            return "change", event

    def _changes(
        self,
        runs: Runs,
        visitor: Visitor,
        spec: ChartSpec | None,
        pattern: Pattern | None,
        cursor: Cursor,
    ) -> dict[str, Any] | None:
        visible = runs.visible(visitor)
        changed = [i for i in visible if runs.rows[i]["revision"] > cursor.revision]
        deleted = runs.index.db.execute(
            "SELECT count(*) FROM runs WHERE deleted AND revision > ?", (cursor.revision,)
        ).fetchone()[0]
        if not changed and not deleted:
            return None
        event: dict[str, Any] = {
            "revision": runs.revision, "deleted": deleted, "count": len(changed),
            "runs": {i: runs.rows[i]["state"] for i in changed[:_MAX_CHANGED]},
        }  # fmt: skip
        if spec is not None and pattern is not None:
            watched = runs.selected(spec.runs, visible)
            found = news(runs.index, watched, pattern, cursor.positions, cursor.revision)
            event |= {"points": found.series, "again": found.again}
        return event

    def _move(self, runs: Runs, visitor: Visitor, spec: ChartSpec | None, cursor: Cursor) -> None:
        cursor.index_id, cursor.revision = runs.index_id, runs.revision
        if spec is not None:
            watched = runs.selected(spec.runs, runs.visible(visitor))
            cursor.positions = positions(runs.index, watched)


def _event(kind: str, value: dict[str, Any], cursor: Cursor | None = None) -> bytes:
    head = f"event: {kind}\n" + (f"id: {cursor}\n" if cursor is not None else "")
    return head.encode() + b"data: " + orjson.dumps(value) + b"\n\n"
