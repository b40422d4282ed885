"""pandas frames in the shapes that neptune_query gives: index, columns, order and types."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.compat.neptune_query.exceptions import ConflictingAttributeTypes
from seamount.tracking.compat.neptune_query.selection import Selection
from seamount.tracking.compat.neptune_query.types import File

PREVIEW = ("is_preview", "preview_completion")
Piece = tuple[str, str, dict[str, Any]]  # label, attribute, columns by name
_TYPES = {
    "value": "float64", "absolute_time": "int64", "is_preview": "bool",
    "preview_completion": "float64",
}  # fmt: skip


def need_pandas() -> None:
    """UserError where frames cannot be made."""
    import importlib.util

    if importlib.util.find_spec("pandas") is None:
        raise UserError("pandas is not installed: pip install 'seamount[neptune]'")


def by_step(
    word: str, pieces: Sequence[Piece], fields: Sequence[str], *, plain: bool, suffix: str = ""
) -> Any:
    """A row a label and step, a column an attribute, with sub-columns where `fields` are several.

    `plain`: values are numbers, else any objects.
    """
    import pandas as pd

    types = _TYPES if plain else _TYPES | {"value": "object"}
    long = pd.DataFrame(
        {word: _repeated(pieces, 0, ""), "path": _repeated(pieces, 1, suffix)}, dtype=object
    )
    long["step"] = _joined(pieces, "step", "float64")
    for field in fields:
        long[field] = _joined(pieces, field, types[field])
    wide = long.set_index([word, "step", "path"])[list(fields)].unstack("path")
    if len(fields) == 1:
        wide.columns = pd.Index(wide.columns.get_level_values(1), dtype=object)
        wide.columns.name = None
        return wide.sort_index(axis="columns").sort_index()
    paths = sorted(set(long["path"]))
    pairs = [(path, field) for path in paths for field in fields]
    columns = pd.MultiIndex.from_tuples(pairs) if pairs else pd.MultiIndex.from_arrays([[], []])
    return wide.swaplevel(axis="columns").reindex(columns=columns).sort_index()


def table(chosen: Selection, columns: dict[tuple[str, str], dict[str, Any]], **how: bool) -> Any:
    """A row a run, a column an attribute, sorted by name.

    `suffixes` adds `:TYPE` to names, without it ConflictingAttributeTypes is raised where a name
    has several types; `with_project` puts the project before the label into the index.
    """
    import pandas as pd

    word = chosen.containers.word
    levels = ["project", word] if how["with_project"] else [word]
    labels = [_labels(chosen, run_id, how["with_project"]) for run_id in chosen.run_ids]
    if not labels:
        empty = pd.MultiIndex.from_tuples([], names=levels)
        index = empty if len(levels) > 1 else pd.Index([], name=word)
        return pd.DataFrame(index=index, columns=pd.Index([], name="attribute"))
    names = [f"{name}:{kind}" if how["suffixes"] else name for name, kind in columns]
    if twice := {name for name in names if names.count(name) > 1}:
        raise ConflictingAttributeTypes(sorted(twice))
    cells = [
        {
            name: column[i]
            for name, column in zip(names, columns.values(), strict=True)
            if i in column
        }
        for i in chosen.run_ids
    ]
    frame = pd.DataFrame(cells, index=_index(labels, levels), columns=pd.Index(sorted(names)))
    frame.columns.name = "attribute"
    return frame


def downloads(word: str, paths: dict[File, Path | None]) -> Any:
    """A row a label and step, a column an attribute; cells are paths, None where nothing is."""
    import pandas as pd

    levels = [word, "step"]
    if not paths:
        index = pd.MultiIndex.from_tuples([], names=levels)
        return pd.DataFrame(index=index, columns=pd.Index([], name="attribute"))
    long = pd.DataFrame(
        {
            word: [file.container_identifier for file in paths],
            "step": [file.step for file in paths],
            "attribute": [file.attribute_path for file in paths],
            "path": [str(path) if path else None for path in paths.values()],
        }
    )
    wide = long.pivot(index=levels, columns="attribute", values="path").sort_index()
    return wide[sorted(wide.columns)]


def _labels(chosen: Selection, run_id: str, with_project: bool) -> tuple[str, ...]:
    own = (chosen.label(run_id),)
    return (chosen.project(run_id), *own) if with_project else own


def _index(labels: list[tuple[str, ...]], levels: list[str]) -> Any:
    import pandas as pd

    if len(levels) == 1:
        return pd.Index([label for (label,) in labels], name=levels[0])
    return pd.MultiIndex.from_tuples(labels, names=levels)


def _repeated(pieces: Sequence[Piece], place: int, suffix: str) -> Any:
    import numpy as np

    texts = [f"{piece[place]}{suffix}" for piece in pieces]  # type: ignore[misc]
    return np.repeat(np.array(texts, object), [len(piece[2]["step"]) for piece in pieces])


def _joined(pieces: Sequence[Piece], field: str, kind: str) -> Any:
    import numpy as np
    import pandas as pd

    if kind == "object":
        return pd.Series([v for _, _, columns in pieces for v in columns[field]], dtype=object)
    arrays = [columns[field] for _, _, columns in pieces]
    values = np.concatenate(arrays) if arrays else np.empty(0)
    if field == "absolute_time":  # Neptune keeps milliseconds
        milliseconds = values.astype("int64") // 1000
        return pd.to_datetime(milliseconds, unit="ms", utc=True)
    return pd.Series(values, dtype=kind)
