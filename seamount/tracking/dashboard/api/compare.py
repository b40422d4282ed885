"""GET /api/v1/compare, /api/v1/media: runs beside a baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.answers import in_thread, json_response
from seamount.tracking.dashboard.api.files import visible_run
from seamount.tracking.dashboard.compare.configs import compare_configs
from seamount.tracking.dashboard.compare.media import media_of, media_series
from seamount.tracking.dashboard.compare.metrics import compare_metrics
from seamount.tracking.dashboard.compare.source import compare_source
from seamount.tracking.dashboard.compare.spec import CompareSpec
from seamount.tracking.dashboard.run_data import RunData
from seamount.tracking.dashboard.spec import from_query
from seamount.tracking.query.run_view import RunView
from seamount.tracking.store.index import Index

Section = Callable[[CompareSpec, list[RunView], Index], Any]


class CompareApi:
    """Compares runs of `data`."""

    def __init__(self, data: RunData) -> None:
        self._data = data

    async def compare(self, request: Request, visitor: Visitor) -> Response:
        """?spec=CompareSpec&part=metrics|configs|source: the runs, and that part of them."""
        spec = _spec(request)
        part = request.query_params.get("part", "metrics")
        if part not in _PARTS:
            raise UserError(f"part={part[:20]!r} must be one of {', '.join(_PARTS)}")
        return json_response(await in_thread(self._answer, spec, visitor, part))

    async def media(self, request: Request, visitor: Visitor) -> Response:
        """?spec=CompareSpec: the series of media; with &name=&kind= its entries of each run."""
        spec = _spec(request)
        name, kind = request.query_params.get("name"), request.query_params.get("kind", "")

        def answer() -> Response:
            views = self._views(spec, visitor)
            with self._data.store.index() as index:
                ids = [view.run_id for view in views]
                found: dict[str, Any] = {"series": media_series(index, ids)}
                if name is not None:
                    found["runs"] = {i: media_of(index, i, name, kind) for i in ids}
            return json_response(found)

        return await in_thread(answer)

    def _answer(self, spec: CompareSpec, visitor: Visitor, part: str) -> dict[str, Any]:
        views = self._views(spec, visitor)
        heads = [{n: v.row[n] for n in ("run_id", "name", "state", "project")} for v in views]
        with self._data.store.index() as index:  # beside other questions
            return {"baseline": spec.base, "runs": heads, part: _PARTS[part](spec, views, index)}

    def _views(self, spec: CompareSpec, visitor: Visitor) -> list[RunView]:
        with self._data.now() as runs:
            return [visible_run(runs, self._data.store, i, visitor) for i in spec.every]


def _configs(spec: CompareSpec, views: list[RunView], index: Index) -> dict[str, Any]:
    columns = [index.config(view.run_id) for view in views]
    return compare_configs(columns, everything=spec.everything, search=spec.search)


_PARTS: dict[str, Section] = {
    "metrics": lambda spec, views, index: compare_metrics(index, spec),
    "configs": _configs,
    "source": lambda spec, views, index: compare_source(views, index),
}


def _spec(request: Request) -> CompareSpec:
    text = request.query_params.get("spec")
    if text is None:
        raise UserError('say which runs: ?spec={"runs": ["..."]}')
    return from_query(CompareSpec, text)
