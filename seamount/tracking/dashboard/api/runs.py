"""GET /api/v1/runs, /api/v1/columns: the runs table, and what may stand in it."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.answers import in_thread, json_response, whole_number
from seamount.tracking.dashboard.names import attribute_names
from seamount.tracking.dashboard.run_data import RunData
from seamount.tracking.dashboard.spec import TableSpec, from_query
from seamount.tracking.dashboard.table import MAX_ROWS, table_page

_MAX_FIELDS = 500


class RunsApi:
    """Answers about the runs in `data`."""

    def __init__(self, data: RunData) -> None:
        self._data = data

    async def table(self, request: Request, visitor: Visitor) -> Response:
        """?spec=TableSpec&offset=&limit=&fields=[attribute, ...]&since=revision"""
        spec = table_spec(request)
        offset = whole_number(request, "offset", 0, 10**9)
        limit = whole_number(request, "limit", 100, MAX_ROWS)
        since = whole_number(request, "since", 0, 2**53) if "since" in request.query_params else -1
        fields = _fields(request)

        def answer() -> Response:
            with self._data.now() as runs:
                page = table_page(
                    runs, spec, visitor, offset=offset, limit=limit, fields=fields, since=since
                )
            return json_response(page)

        return await in_thread(answer)

    async def columns(self, request: Request, visitor: Visitor) -> Response:
        """?spec=TableSpec: names of what the runs it selects have."""
        spec = table_spec(request)

        def answer() -> Response:
            with self._data.now() as runs:
                allowed = runs.visible(visitor)
                ids = runs.found(spec.where, spec.search, spec.project, None, allowed)
                return json_response(attribute_names(runs, ids))

        return await in_thread(answer)


def table_spec(request: Request) -> TableSpec:
    """The TableSpec in ?spec=, JSON or packed; the default where there is none."""
    return from_query(TableSpec, request.query_params.get("spec") or "{}")


def _fields(request: Request) -> list[str] | None:
    text = request.query_params.get("fields")
    if text is None:
        return None
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise UserError(f"fields must be a JSON list of attributes, not {text[:60]!r}")
    if len(found) > _MAX_FIELDS:
        raise UserError(f"{len(found)} fields are more than {_MAX_FIELDS}: ask for those in view")
    return found
