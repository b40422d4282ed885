"""How the dashboard's API answers: JSON with non-finite numbers as text, errors as one sentence."""

from __future__ import annotations

import asyncio
import datetime
import math
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import orjson
from starlette.requests import Request
from starlette.responses import Response

from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError
from seamount.tracking.dashboard.access import Access, Refused, Visitor
from seamount.tracking.query.mistakes import QueryError

MAX_BODY_BYTES = 4 << 20
_T = TypeVar("_T")
_STATUS: list[tuple[type[Exception], int]] = [
    (UserError, 400), (CorruptData, 422), (DiskFull, 507), (SeamountError, 500),
]  # fmt: skip
Answer = Callable[[Request, Visitor], Awaitable[Response]]


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """`value` as JSON; numpy arrays go out as lists, moments as ISO 8601 in UTC."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_UTC_Z
    body = orjson.dumps(value, default=str, option=options)
    known = {"Cache-Control": "no-store"} | (headers or {})
    return Response(body, status, known, media_type="application/json")


def failure(status: int, sentence: str, **more: Any) -> Response:
    """An error as the API gives it."""
    return json_response({"error": sentence, **more}, status)


def answered(access: Access, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """`answer` behind the rules of access, with our errors as status and sentence."""

    async def told(request: Request) -> Response:
        try:
            return await answer(request, await in_thread(access.visitor, request))
        except Refused as error:
            return failure(error.status, str(error))
        except QueryError as error:
            place = {"text": error.text, "position": error.position}
            return failure(400, str(error), query=place)
        except SeamountError as error:
            status = next(code for kind, code in _STATUS if isinstance(error, kind))
            return failure(status, str(error))

    return told


async def in_thread(function: Callable[..., _T], *values: Any, **options: Any) -> _T:
    """What `function` gives in a thread: it waits for files, and the server must not."""
    return await asyncio.to_thread(function, *values, **options)


async def body_of(request: Request, limit: int = MAX_BODY_BYTES) -> bytes:
    """The request's body, bounded; raises Refused (413)."""
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > limit:
            raise Refused(413, f"more than {limit} bytes in one request")
        pieces.append(piece)
    return b"".join(pieces)


def whole_number(request: Request, name: str, default: int, highest: int) -> int:
    """A count in the query string, from 0 to `highest`; raises UserError."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 18 or int(text) > highest:
        raise UserError(f"{name}={text[:20]!r} must be a whole number up to {highest}")
    return int(text)


def plain(value: Any) -> Any:
    """A cell as JSON can hold it: "NaN", "Infinity", "-Infinity" as text, moments in seconds."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    if isinstance(value, int) and not -(2**53) <= value <= 2**53:
        return str(value)  # JavaScript's numbers would round it
    return value
