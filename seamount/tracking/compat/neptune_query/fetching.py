"""What the functions for experiments and those for runs have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, UserError
from seamount.tracking.compat.neptune_query import arguments, buckets, frames, points
from seamount.tracking.compat.neptune_query.attributes import SERIES_TABLES
from seamount.tracking.compat.neptune_query.exceptions import (
    NeptuneFileDownloadError,
    NeptuneUserError,
)
from seamount.tracking.compat.neptune_query.filters import Attribute, BaseAttributeFilter
from seamount.tracking.compat.neptune_query.selection import (
    EXPERIMENTS,
    Containers,
    Selection,
    restricted,
    selection,
    wanted_attributes,
)
from seamount.tracking.compat.neptune_query.types import File
from seamount.tracking.compat.neptune_scale.inner import store_of_scripts
from seamount.tracking.query.run_view import RunView

TIME = "absolute_time"


def labels(containers: Containers, project: str | None, given: Any) -> list[str]:
    """Names of experiments or ids of runs, sorted."""
    with selection(containers, given, project) as chosen:
        return sorted(chosen.label(run_id) for run_id in chosen.run_ids)


def attribute_names(
    containers: Containers, project: str | None, given: Any, wanted: Any
) -> list[str]:
    """Names of attributes, sorted."""
    which = wanted_attributes(wanted)
    with selection(containers, given, project) as chosen:
        found = chosen.attributes.definitions(which, chosen.run_ids)
        return sorted({name for name, _ in found})


def table(
    containers: Containers,
    given: Any,
    attributes: Any,
    sort_by: str | Attribute,
    sort_direction: str,
    limit: int | None,
    suffixes: bool,
    *,
    project: str | None = None,
    everywhere: bool = False,
) -> Any:
    """A row a run, a column an attribute; series show their last value."""
    frames.need_pandas()
    arguments.positive("limit", limit)
    descending = arguments.sort_direction(sort_direction)
    if not isinstance(sort_by, str | Attribute):
        raise ValueError(f"sort_by must be a str or an Attribute, not {type(sort_by)}")
    key = Attribute(sort_by) if isinstance(sort_by, str) else sort_by
    which = wanted_attributes(attributes)
    with selection(
        containers, given, project,
        sort_by=key, descending=descending, limit=limit, everywhere=everywhere,
    ) as chosen:  # fmt: skip
        columns = {}
        for name, kind in chosen.attributes.definitions(which, chosen.run_ids):
            found = chosen.attributes.column((name, kind), chosen.run_ids)
            if kind in ("file", "file_series"):
                found = {i: _file(chosen, i, name, value) for i, value in found.items()}
            columns[name, kind] = found
        return frames.table(chosen, columns, suffixes=suffixes, with_project=everywhere)


def metrics(
    containers: Containers,
    project: str | None,
    given: Any,
    attributes: Any,
    include_time: str | None,
    step_range: Any,
    lineage: bool,
    tail_limit: int | None,
    suffixes: bool,
    previews: bool,
) -> Any:
    """Every point of metrics by label and step."""
    _check_points(step_range, tail_limit, include_time)
    which = restricted(wanted_attributes(attributes), ["float_series"])
    with selection(containers, given, project) as chosen:
        pieces = [
            (label, name, points.cut(columns, step_range, tail_limit))
            for label, name, columns in _metrics(chosen, which, lineage, previews)
        ]
    fields = ["value", *([TIME] if include_time else []), *(frames.PREVIEW if previews else [])]
    suffix = ":float_series" if suffixes else ""
    return frames.by_step(containers.word, _filled(pieces), fields, plain=True, suffix=suffix)


def metric_buckets(
    containers: Containers,
    project: str | None,
    given: Any,
    x: str,
    y: Any,
    limit: int,
    lineage: bool,
    previews: bool,
) -> Any:
    """One point a bucket of steps."""
    frames.need_pandas()
    arguments.buckets(x, limit)
    which = restricted(wanted_attributes(y), ["float_series"])
    with selection(containers, given, project) as chosen:
        pieces = list(_metrics(chosen, which, lineage, previews))
    return buckets.by_bucket(containers.word, _filled(pieces), limit)


def series(
    containers: Containers,
    project: str | None,
    given: Any,
    attributes: Any,
    include_time: str | None,
    step_range: Any,
    lineage: bool,
    tail_limit: int | None,
) -> Any:
    """Every text, histogram and file of series by label and step."""
    import numpy as np

    _check_points(step_range, tail_limit, include_time)
    which = restricted(wanted_attributes(attributes), list(SERIES_TABLES))
    pieces: list[frames.Piece] = []
    with selection(containers, given, project) as chosen:
        for name, kind in chosen.attributes.definitions(which, chosen.run_ids):
            for run_id in chosen.run_ids:
                found = points.series(
                    chosen.attributes.index, SERIES_TABLES[kind], run_id, name, lineage=lineage
                )
                cells = [cell for cell, _ in found.values()]
                if kind == "file_series":
                    cells = [_file(chosen, run_id, name, cell) for cell in cells]
                columns = {
                    "step": np.array(list(found), float),
                    "value": _objects(cells),
                    TIME: np.array([time_us for _, time_us in found.values()], "int64"),
                }
                pieces.append(
                    (chosen.label(run_id), name, points.cut(columns, step_range, tail_limit))
                )
    fields = ["value", *([TIME] if include_time else [])]
    return frames.by_step(containers.word, _filled(pieces), fields, plain=False)


def download(containers: Containers, files: Any, destination: str | Path | None) -> Any:
    """Copy files into `destination` (the working folder) and tell their paths."""
    frames.need_pandas()
    import pandas as pd

    if not isinstance(files, File | Iterable):
        raise ValueError(f"`files` must be File, DataFrame, Series or iterable, not {type(files)}")
    cells: Iterable[Any] = [files] if isinstance(files, File) else files
    if isinstance(files, pd.DataFrame):
        cells = (cell for _, column in files.items() for cell in column)
    wanted = [cell for cell in cells if isinstance(cell, File)]
    for file in wanted:
        if bool(file.experiment_name) != (containers is EXPERIMENTS):
            raise NeptuneUserError(
                f"{file.attribute_path} of {file.container_identifier} was fetched with the other "
                "API: experiments' files go to neptune_query.download_files, those of runs to "
                "neptune_query.runs.download_files"
            )
    folder = Path(destination or ".").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return frames.downloads(containers.word, {file: _copy(file, folder) for file in wanted})


def _copy(file: File, folder: Path) -> Path | None:
    """The path of the copy; None where the store does not have the file any more."""
    target = folder / _target(file)
    run_id, _, name = file.path.partition("/")
    store = store_of_scripts(create=False)
    try:
        with store.index() as index:
            view = RunView(store, index.run(run_id))
        view.copy_to(name, target)
    except KeyError:
        return None
    except (CorruptData, UserError, OSError) as error:
        raise NeptuneFileDownloadError(str(error)) from error
    return target


def _target(file: File) -> Path:
    """LABEL/ATTRIBUTE[/step_STEP] with the suffix of its type, in letters that any disk takes."""
    import hashlib
    import mimetypes

    parts = [file.container_identifier, *file.attribute_path.split("/")]
    if file.step is not None:
        parts.append(f"step_{file.step:f}")
    safe = []
    for part in filter(None, parts):
        plain = "".join(c if c.isalnum() or c in "_-" else "_" for c in part)
        if len(plain) > 200:
            plain = f"{plain[:180]}_{hashlib.blake2b(plain.encode(), digest_size=8).hexdigest()}"
        safe.append(plain)
    return Path(*safe).with_suffix(mimetypes.guess_extension(file.mime_type) or "")


def _check_points(step_range: Any, tail_limit: Any, include_time: Any) -> None:
    frames.need_pandas()
    arguments.step_range(step_range)
    arguments.positive("tail_limit", tail_limit)
    arguments.include_time(include_time)


def _metrics(
    chosen: Selection, wanted: BaseAttributeFilter, lineage: bool, previews: bool
) -> Iterator[frames.Piece]:
    leaves = [names for names, _ in wanted.leaves()]
    index = chosen.attributes.index
    for run_id in chosen.run_ids:
        ranks = points.metric_names(index, run_id, lineage=lineage, previews=previews)
        for name, rank in ranks.items():
            if any(_meant(name, names) for names in leaves):
                found = points.metric(index, run_id, name, rank, lineage=lineage, previews=previews)
                yield chosen.label(run_id), name, found


def _meant(name: str, names: list[str] | Callable[[str], bool]) -> bool:
    return name in names if isinstance(names, list) else names(name)


def _filled(pieces: Iterable[frames.Piece]) -> list[frames.Piece]:
    return [piece for piece in pieces if len(piece[2]["step"])]


def _objects(cells: list[Any]) -> Any:
    import numpy as np

    found = np.empty(len(cells), object)
    found[:] = cells
    return found


def _file(chosen: Selection, run_id: str, name: str, found: tuple[Any, ...]) -> File:
    step, path, size_bytes, mime = found
    label = chosen.label(run_id)
    of_experiment = chosen.containers is EXPERIMENTS
    return File(
        project_identifier=chosen.project(run_id),
        experiment_name=label if of_experiment else None,
        run_id=None if of_experiment else label,
        attribute_path=name,
        step=None if step is None else float(step),
        path=path,
        size_bytes=size_bytes,
        mime_type=mime,
    )
