"""Tables over the runs a filter selects: points, texts, envelopes, files and experiments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.core.registry import unknown
from seamount.tracking.names import check_run_id
from seamount.tracking.query.frames import Frame, frame
from seamount.tracking.query.histories import points_of
from seamount.tracking.query.patterns import compile_pattern
from seamount.tracking.query.run_view import RunView, plain_row
from seamount.tracking.query.runs_table import RunTable, Where, runs
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.index import Index, Point
from seamount.tracking.store.lineage import ancestors, describe, known_ancestors, metric_keys
from seamount.tracking.store.series import string_keys, timed_strings

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Columns

_POINT = ("step", "value", "time_us")
_PREVIEW = ("preview", "preview_completion")
_POINT_COLUMNS = ("run_id", "metric", "rank", "step", "value", "time")
StepRange = tuple[float | None, float | None]


def run(store: str | Path | None, run_id: str) -> dict[str, Any]:
    """One run with config (newest snapshot), snapshots, tags, files, metric summaries, lineage."""
    opened = open_store(store, create=False)
    opened.refresh(check_run_id(run_id))
    with opened.index() as index:
        row = plain_row(index.run(run_id))
        snapshots = index.configs(run_id)
        return row | {
            "config": snapshots[-1]["values"] if snapshots else {},
            "snapshots": [{k: s[k] for k in s if k != "values"} for s in snapshots],
            "tags": index.tags(run_id),
            "files": index.files(run_id),
            "metrics": [asdict(summary) for summary in index.summaries(run_id)],
            "lineage": describe(index, run_id),
        }


def lineage(store: str | Path | None, run_id: str) -> dict[str, Any]:
    """The runs that a run was forked from, and those forked from it.

    {"run_id", "ancestors", "descendants", "problem"}: see store.lineage.describe.
    """
    opened = open_store(store, create=False)
    opened.run_folder(run_id)
    opened.refresh()
    with opened.index() as index:
        return describe(index, run_id)


def points(
    store: str | Path | None,
    run_id: str,
    metric: str,
    rank: int = 0,
    *,
    lineage: bool = True,
    include_previews: bool = False,
) -> list[dict[str, Any]]:
    """Points {"step", "value", "time_us"} of a metric by step; raises UserError if unknown.

    A fork has its ancestors' points before its own unless not `lineage`; raises UserError where
    one is gone. With previews each has "preview" and "preview_completion" too.
    """
    how = {"lineage": lineage, "include_previews": include_previews}
    with _metric(store, run_id, metric, rank, how) as index:
        names = _POINT + (_PREVIEW if include_previews else ())
        found = index.history(run_id, metric, rank, **how)
        return [{name: getattr(point, name) for name in names} for point in found]


def columns(
    store: str | Path | None,
    run_id: str,
    metric: str,
    rank: int = 0,
    *,
    lineage: bool = True,
    include_previews: bool = False,
) -> Columns:
    """The same points as numpy columns (needs the extra `query`)."""
    how = {"lineage": lineage, "include_previews": include_previews}
    with _metric(store, run_id, metric, rank, how) as index:
        return index.columns(run_id, metric, rank, **how)


@contextmanager
def _metric(
    store: str | Path | None, run_id: str, metric: str, rank: int, how: dict[str, bool]
) -> Iterator[Index]:
    """The index, once the run was taken in and the metric is found there."""
    opened = open_store(store, create=False)
    opened.refresh(check_run_id(run_id))
    with opened.index() as index:
        index.run(run_id)
        if how["lineage"]:
            ancestors(index, run_id)
        if not index.has_metric(run_id, metric, rank, **how):
            raise _unknown_metric(index, run_id, metric, rank)
        yield index


def metrics(
    metric: str,
    where: Where = None,
    *,
    step_range: StepRange = (None, None),
    tail: int | None = None,
    lineage: bool = True,
    include_previews: bool = False,
    **which: Any,
) -> Frame:
    """Every point of the metrics whose names match `metric` (an extended regex).

    One row a point: run_id, metric, rank, step, value, time; by run, metric, rank and step; with
    previews also preview and preview_completion. `step_range` is inclusive, `tail` keeps the last
    points of each series. A fork has its ancestors' points before its own unless not `lineage`.
    `which` (store, project, search, sort, limit) selects runs as `runs` does.
    """

    def cut(found: list[Point]) -> list[Point]:
        return found if tail is None else found[max(0, len(found) - tail) :]

    how = {"lineage": lineage, "include_previews": include_previews}
    return _points_frame(metric, runs(where, columns=(), **which), step_range, cut, how)


def buckets(
    metric: str,
    where: Where = None,
    *,
    limit: int = 1000,
    step_range: StepRange = (None, None),
    store: str | Path | None = None,
    project: str | None = None,
    search: str | None = None,
    lineage: bool = True,
    include_previews: bool = False,
) -> Frame:
    """As `metrics`, but at most `limit` points a series, among them each bucket's first, lowest,
    highest and last: no spike is hidden."""
    if limit < 1:
        raise UserError(f"limit {limit} must be at least 1")
    selected = runs(where, store=store, project=project, search=search, columns=())

    def thin(found: list[Point]) -> list[Point]:
        import numpy as np

        from seamount.tracking.points.buckets import envelope

        return [found[at] for at in envelope(np.array([p.value for p in found]), limit)]

    how = {"lineage": lineage, "include_previews": include_previews}
    return _points_frame(metric, selected, step_range, thin, how)


def series(name: str, where: Where = None, *, lineage: bool = True, **which: Any) -> Frame:
    """Every text of the string series whose names match `name` (an extended regex).

    One row a text: run_id, series, rank, step, value, time. A fork has its ancestors' texts before
    its own unless not `lineage`.
    """
    pattern = compile_pattern(name)
    rows: list[tuple[Any, ...]] = []
    for view, index in _each(runs(where, columns=(), **which)):
        joined = lineage and bool(known_ancestors(index, view.run_id))
        for text, rank in string_keys(index, view.run_id, lineage=joined):
            if pattern.matches(text):
                found = timed_strings(index, view.run_id, text, rank, lineage=joined)
                rows += [(view.run_id, text, rank, step, value, us) for step, us, value in found]
    return frame(("run_id", "series", "rank", "step", "value", "time"), rows, ["time"])


def artifacts(name: str = "", where: Where = None, **which: Any) -> Frame:
    """The files whose names match `name` (an extended regex): run_id, name, size_bytes, digest,
    versions."""
    pattern = compile_pattern(name)
    rows = [
        (view.run_id, file, entry["size_bytes"], entry["digest"], entry["versions"])
        for view in runs(where, columns=(), **which)
        for file, entry in view.artifacts.items()
        if pattern.matches(file)
    ]
    return frame(("run_id", "name", "size_bytes", "digest", "versions"), rows)


def experiments(where: Where = None, **which: Any) -> Frame:
    """Runs of one project and name together, as Neptune's experiments: project, name, the newest
    run (its id and state), how many runs, first and last creation."""
    groups: dict[tuple[str, str], list[RunView]] = {}
    for view in runs(where, columns=(), **which):
        groups.setdefault((view.project, view.name), []).append(view)
    rows = []
    for (project, name), views in groups.items():
        made = [view.row["created_us"] for view in views]
        head = max(views, key=lambda view: view.row["created_us"])
        rows.append((project, name, head.run_id, head.state, len(views), min(made), max(made)))
    names = ("project", "name", "head_run_id", "head_state", "runs", "first_created", "created")
    return frame(names, rows, ["first_created", "created"])


def _points_frame(
    metric: str,
    selected: RunTable,
    step_range: StepRange,
    cut: Callable[[list[Point]], list[Point]],
    how: dict[str, bool],
) -> Frame:
    pattern = compile_pattern(metric)
    low, high = step_range
    extra = _PREVIEW if how["include_previews"] else ()
    rows: list[tuple[Any, ...]] = []
    for view, index in _each(selected):
        for name, rank in metric_keys(index, view.run_id, **how):
            if not pattern.matches(name):
                continue
            found = points_of(index, view.run_id, name, rank, **how)
            inside = [
                p
                for p in found
                if (low is None or p.step >= low) and (high is None or p.step <= high)
            ]
            head = (view.run_id, name, rank)
            rows += [
                (*head, p.step, p.value, p.time_us, *(getattr(p, each) for each in extra))
                for p in cut(inside)
            ]
    return frame(_POINT_COLUMNS + extra, rows, ["time"])


def _each(selected: RunTable) -> Iterator[tuple[RunView, Index]]:
    """Every selected run with one open index for all of them."""
    if len(selected):
        with selected[0].store.index() as index:
            for view in selected:
                yield view, index


def _unknown_metric(index: Index, run_id: str, metric: str, rank: int) -> UserError:
    known = [name for name, of_rank in metric_keys(index, run_id) if of_rank == rank]
    if known:
        return unknown("metric", metric, known)
    return UserError(f"rank {rank} of run {run_id} logged no metrics")
