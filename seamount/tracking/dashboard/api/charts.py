"""GET /api/v1/chart, /api/v1/metrics: what a chart shows, and which charts there may be."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.answers import in_thread, json_response, whole_number
from seamount.tracking.dashboard.chart_data import MAX_WIDTH, chart_data
from seamount.tracking.dashboard.charts.strands import MAX_RUNS
from seamount.tracking.dashboard.names import metric_names
from seamount.tracking.dashboard.run_data import RunData
from seamount.tracking.dashboard.spec import ChartSpec, RunSelection, from_query
from seamount.tracking.query.patterns import compile_pattern

_MIN_WIDTH = 50


class ChartsApi:
    """Answers about charts of the runs in `data`."""

    def __init__(self, data: RunData) -> None:
        self._data = data

    async def chart(self, request: Request, visitor: Visitor) -> Response:
        """?spec=ChartSpec&width=pixels&baseline=run id"""
        spec = chart_spec(request)
        width = max(_MIN_WIDTH, whole_number(request, "width", 1000, MAX_WIDTH))
        baseline = request.query_params.get("baseline")

        def answer() -> Response:
            shown = self._bounded(spec, visitor)
            self._may_see(baseline, visitor)
            found = chart_data(shown, self._data.store.uri, width, baseline).to_json()
            return json_response(found | {"spec": spec.model_dump(mode="json")})

        return await in_thread(answer)

    async def metrics(self, request: Request, visitor: Visitor) -> Response:
        """?spec=ChartSpec: the metrics it matches in its runs, and those runs (at most 100)."""
        spec = chart_spec(request)

        def answer() -> Response:
            pattern = compile_pattern(spec.metrics)
            with self._data.now() as runs:
                ids = runs.selected(spec.runs, runs.visible(visitor))[:MAX_RUNS]
                names = [name for name in metric_names(runs, ids) if pattern.matches(name)]
            return json_response({"names": names, "runs": ids})

        return await in_thread(answer)

    def _bounded(self, spec: ChartSpec, visitor: Visitor) -> ChartSpec:
        """The spec over runs by their ids: only those that the visitor may see."""
        with self._data.now() as runs:
            ids = runs.selected(spec.runs, runs.visible(visitor))
        if spec.runs.ids is not None:  # in the order that was asked for
            known = set(ids)
            ids = [run_id for run_id in spec.runs.ids if run_id in known]
        return spec.model_copy(update={"runs": RunSelection(ids=tuple(ids[:MAX_RUNS]))})

    def _may_see(self, run_id: str | None, visitor: Visitor) -> None:
        if run_id is None:
            return
        with self._data.now() as runs:
            if run_id not in runs.visible(visitor):
                raise UserError(f"no run {run_id[:140]!r} here: choose another baseline")


def chart_spec(request: Request) -> ChartSpec:
    """The ChartSpec in ?spec=, JSON or packed."""
    text = request.query_params.get("spec")
    if text is None:
        raise UserError('say what to draw: ?spec={"metrics": "^loss$"}')
    return from_query(ChartSpec, text)
