"""GET /api/v1/file: the content of a run's file; ranges of bytes, and no script of it ever runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response

from seamount.core.errors import UserError
from seamount.tracking.dashboard.access import Visitor
from seamount.tracking.dashboard.answers import failure, in_thread
from seamount.tracking.dashboard.run_data import RunData, Runs
from seamount.tracking.dashboard.run_files import HEADERS, RunFile, find_file
from seamount.tracking.query.run_view import RunView
from seamount.tracking.store.folder import Store

_MAX_RANGES = 10


class FilesApi:
    """Hands out files of the runs in `data`."""

    def __init__(self, data: RunData) -> None:
        self._data = data

    async def file(self, request: Request, visitor: Visitor) -> Response:
        """?run=&name=&version=&download=1; Range as HTTP has it."""
        name = request.query_params.get("name", "")
        version = _version(request.query_params.get("version", "-1"))
        if request.headers.get("range", "").count(",") >= _MAX_RANGES:
            return failure(416, f"at most {_MAX_RANGES} ranges at once")
        found = await in_thread(self._find, request.query_params.get("run"), visitor, name, version)
        opened = found.inline and "download" not in request.query_params
        return FileResponse(
            found.path,
            headers=HEADERS,
            media_type=found.mime,
            filename=found.name.rpartition("/")[2],
            content_disposition_type="inline" if opened else "attachment",
        )

    def _find(self, run_id: str | None, visitor: Visitor, name: str, version: int) -> RunFile:
        with self._data.now() as runs:
            view = visible_run(runs, self._data.store, run_id, visitor)
            return find_file(view, runs.index, name, version)


def visible_run(runs: Runs, store: Store, run_id: str | None, visitor: Visitor) -> RunView:
    """The run of this id; raises UserError where the visitor sees none."""
    if run_id is None or run_id not in runs.rows or run_id not in runs.visible(visitor):
        raise UserError(f"no run {(run_id or '')[:140]!r} here: the table of runs lists them")
    return RunView(store, runs.rows[run_id])


def _version(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
        raise UserError(f"version={text[:20]!r} must be a whole number: 0 the first, -1 the newest")
    return int(text)
