"""SQL over a store through DuckDB: reads only, and only the tables named here.

metrics  run_id, name, rank, attempt, step, time, value: points as `history` shows them, with what a
         fork's ancestors lend it; `logged_by` is the run that logged it
points   run_id, ... value: a run's own, with what later attempts of a rank replaced
previews the same, and completion: every preview that was logged
lineage  run_id, ancestor_id, generation, up_to: a fork has its ancestor's points up to that step
series   run_id, name, rank, attempt, points, bad, last_step, last_value, min_value, max_value
configs  run_id, name, value (text), number (where it is one): the newest snapshot of a run
tags     run_id, name, value
runs     run_id, project, name, owner, state, created, ended, error (JSON), fork_run_id, fork_step

Times are UTC. `step` is a double; `whole_step` is the same rounded down, exact beyond 2**53 too.
"""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import CorruptData, UserError
from seamount.tracking.configs import as_text
from seamount.tracking.names import unicode_text
from seamount.tracking.store.folder import open_store
from seamount.tracking.store.index import Index
from seamount.tracking.store.lineage import PROCESS_ONLY, known_ancestors

if TYPE_CHECKING:
    import pyarrow

TABLES = ("metrics", "points", "previews", "lineage", "series", "configs", "tags", "runs")
_OF_POINTS = {"metrics", "points", "previews"}
_TRIES = 10

# The user's SQL comes after these: it can neither read nor write a file, load code, or undo them.
_LOCK = (
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

_VISIBLE = """name, rank, attempt, if(isnan(real), step, real) AS step,
    step AS whole_step, make_timestamp(time_us) AS time, value"""
# What orders steps of one floor exactly: see columns.within.
_INSIDE = "if(isnan(real), least(step, 9223372036854774784), real)"
_LENT = f"""SELECT lent.fork_id AS run_id, {_VISIBLE}, shown.run_id AS logged_by
    FROM shown JOIN lent ON shown.run_id = lent.ancestor_id
    WHERE (step < limit_step OR (step = limit_step AND {_INSIDE} <= limit_inside))
    AND {" AND ".join(f"NOT starts_with(name, '{start}')" for start in PROCESS_ONLY)}"""


def _views(*, previews: bool, forks: bool, shadows: bool) -> str:
    """The views of points; a store without previews, forks or deleted parents pays for none."""
    own = "ANTI JOIN deleted USING (run_id)" if shadows else ""
    final = "isnan(preview)" if previews else "true"
    lent = f"UNION ALL {_LENT}" if forks else ""
    return f"""
CREATE VIEW every_point AS SELECT * FROM parts UNION ALL SELECT * FROM tails;
CREATE VIEW points AS SELECT run_id, {_VISIBLE} FROM every_point {own} WHERE {final};
CREATE VIEW previews AS SELECT run_id, {_VISIBLE}, if(preview < 0, NULL, preview) AS completion
    FROM every_point {own} WHERE NOT isnan(preview);
CREATE VIEW shown AS SELECT * FROM every_point
    LEFT JOIN (SELECT series AS replaced, step AS from_step, inside FROM hidden)
    ON series = replaced
    WHERE {final} AND (replaced IS NULL OR step < from_step
    OR (step = from_step AND {_INSIDE} < inside));
CREATE VIEW metrics AS SELECT run_id, {_VISIBLE}, run_id AS logged_by FROM shown {own} {lent};
"""


def sql(query: str, store: str | Path | None = None) -> pyarrow.Table:
    """The answer to one SELECT over the tables named above.

    Everything logged so far is taken in first. Raises UserError for SQL that is wrong, or that
    does anything but read these tables.
    """
    if any(importlib.util.find_spec(name) is None for name in ("duckdb", "numpy", "pyarrow")):
        raise UserError("SQL needs DuckDB: run `pip install seamount[query]`")
    import duckdb

    opened = open_store(store, create=False)
    opened.refresh()
    with opened.index() as index:
        for _ in range(_TRIES):
            listed: list[tuple[str, Path]] = []
            try:
                return _answer(index, query, listed)
            except (duckdb.Error, OSError) as error:
                if not _gone(index, listed):
                    raise UserError(f"this SQL fails: {' '.join(str(error).split())}") from error
    raise CorruptData("parts of this store go away while they are read: run it again")


def _answer(index: Index, query: str, listed: list[tuple[str, Path]]) -> Any:
    import duckdb

    with duckdb.connect(":memory:", config={"python_enable_replacements": "false"}) as connection:
        _check(connection, query)
        wanted = {table for table in TABLES if table in query.lower()} or set(TABLES)
        if wanted & _OF_POINTS:
            _add_points(connection, index, listed)
        for table in wanted - _OF_POINTS:
            connection.register(table, _SMALL[table](index))
        for statement in _LOCK:
            connection.execute(statement)
        return connection.sql(query).to_arrow_table()


def _check(connection: Any, query: str) -> None:
    from duckdb import StatementType

    found = connection.extract_statements(query)
    allowed = (StatementType.SELECT, StatementType.EXPLAIN)
    if len(found) != 1 or found[0].type not in allowed:
        raise UserError("give one SELECT: this SQL reads the store and changes nothing")


def _gone(index: Index, listed: list[tuple[str, Path]]) -> bool:
    """Whether a part went away; one that is lost for good is made anew from the segments."""
    from seamount.tracking.points.history import forget_lost

    gone = [(run_id, path) for run_id, path in listed if not path.exists()]
    for run_id, path in gone:
        forget_lost(index, run_id, path)
    return bool(gone)


def _add_points(connection: Any, index: Index, listed: list[tuple[str, Path]]) -> None:
    import pyarrow as pa

    from seamount.tracking.points import parts
    from seamount.tracking.points.snapshots import all_snapshots, tail_points

    lent = _lent(index)
    snapshots = all_snapshots(index, {row[1] for row in lent})
    schema = parts.empty_table().schema.append(pa.field("run_id", pa.string()))
    listed += [(run_id, path) for run_id, each in snapshots.items() for path in each.parts]
    tails = [pa.table([[]] * len(schema), schema=schema)]
    for run_id, each in snapshots.items():
        if each.tails:
            table = parts.to_table(tail_points(each), each.labels)
            run = pa.repeat(pa.scalar(run_id), len(table))
            tails.append(table.append_column(schema.field("run_id"), run))
    connection.register("parts", _dataset(listed, schema))
    connection.register("tails", pa.concat_tables(tails))
    connection.register("hidden", _hidden(index))
    connection.register("lent", _lent_table(lent))
    ancestors = {above for _, above, *_ in lent}
    shadows = [(run["run_id"],) for run in index.runs(deleted=True)
               if run["deleted"] and run["run_id"] in ancestors]  # fmt: skip
    connection.register("deleted", _table({"run_id": "string"}, shadows))
    query = "SELECT 1 FROM series WHERE previews > 0 LIMIT 1"
    previews = index.db.execute(query).fetchone() is not None
    views = _views(previews=previews, forks=bool(lent), shadows=bool(shadows))
    connection.execute(views)


def _lent(index: Index) -> list[tuple[str, str, int, int | float]]:
    """(run id, ancestor's id, generation, last step of the ancestor that it has) of every fork."""
    ids = [row["run_id"] for row in index.runs() if row["fork_run_id"] is not None]
    return [
        (run_id, above.run_id, above.generation, above.up_to)
        for run_id in ids
        for above in known_ancestors(index, run_id)
    ]


def _lent_table(lent: list[tuple[str, str, int, int | float]]) -> Any:
    from seamount.tracking.points.columns import bound

    limits = [bound(step) for *_, step in lent]
    columns = {"fork_id": "string", "ancestor_id": "string", "limit_step": "int64",
               "limit_inside": "float64"}  # fmt: skip
    rows = [
        (fork, above, int(floor), float(inside))
        for (fork, above, *_), (floor, inside) in zip(lent, limits, strict=True)
    ]
    return _table(columns, rows)


def _lineage(index: Index) -> Any:
    columns = {"run_id": "string", "ancestor_id": "string", "generation": "int64",
               "up_to": "float64"}  # fmt: skip
    return _table(columns, [(*row[:3], float(row[3])) for row in _lent(index)])


def _dataset(listed: list[tuple[str, Path]], schema: Any) -> Any:
    """The parts as one Arrow dataset, each known to hold one run; DuckDB opens no file itself."""
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    form, local = ds.ParquetFileFormat(), LocalFileSystem()
    fragments = [
        form.make_fragment(str(path), local, ds.field("run_id") == run_id)
        for run_id, path in listed
    ]
    return ds.FileSystemDataset(fragments, schema, form, local)


def _hidden(index: Index) -> Any:
    """Series id -> step (floor, and `within` it) from which a later attempt stands in its place."""
    import numpy as np
    import pyarrow as pa

    from seamount.tracking.points.columns import split_steps, within
    from seamount.tracking.points.snapshots import replaced_from

    rows = index.db.execute(
        "SELECT run_id, name, rank, attempt, id, min_step FROM series WHERE points > 0 AND"
        " (run_id, name, rank) IN (SELECT run_id, name, rank FROM series WHERE attempt > 0)"
    )
    found = replaced_from((row[:3], row[3], row[4], row[5]) for row in rows)
    steps = [split_steps(np.array([s], object if isinstance(s, int) else float))
             for s in found.values()]  # fmt: skip
    return pa.table({
        "series": pa.array(list(found), pa.int64()),
        "step": pa.array([int(floor[0]) for floor, _ in steps], pa.int64()),
        "inside": pa.array([float(within(*step)[0]) for step in steps], pa.float64()),
    })  # fmt: skip


def _series(index: Index) -> Any:
    columns = {
        "run_id": "string", "name": "string", "rank": "int64", "attempt": "int64",
        "points": "int64", "bad": "int64", "last_step": "float64", "last_value": "float64",
        "min_value": "float64", "max_value": "float64",
    }  # fmt: skip
    visible = "run_id IN (SELECT run_id FROM runs WHERE NOT deleted)"
    query = f"SELECT {', '.join(columns)} FROM series WHERE points > 0 AND {visible}"
    rows = index.db.execute(query.replace("last_value", "ifnull(last_value, 'nan')")).fetchall()
    return _table(columns, [(*row[:6], float(row[6]), float(row[7]), *row[8:]) for row in rows])


def _configs(index: Index) -> Any:
    rows = []
    for run in index.runs():
        snapshots = index.configs(run["run_id"])
        for name, value in (snapshots[-1]["values"] if snapshots else {}).items():
            rows.append((run["run_id"], name, unicode_text(as_text(value)), _number(value)))
    return _table(
        {"run_id": "string", "name": "string", "value": "string", "number": "float64"}, rows
    )


def _number(value: Any) -> float | None:
    """A config's value as SQL has it; an integer beyond doubles is infinite."""
    if type(value) is int and abs(value) > sys.float_info.max:
        return math.inf if value > 0 else -math.inf
    return float(value) if type(value) in (int, float) else None


def _tags(index: Index) -> Any:
    rows = [
        (run["run_id"], name, value)
        for run in index.runs()
        for name, value in index.tags(run["run_id"]).items()
    ]
    return _table({"run_id": "string", "name": "string", "value": "string"}, rows)


def _runs(index: Index) -> Any:
    columns = {
        "run_id": "string", "project": "string", "name": "string", "owner": "string",
        "state": "string", "created_us": "timestamp[us]", "ended_us": "timestamp[us]",
        "error": "string", "fork_run_id": "string", "fork_step": "float64",
    }  # fmt: skip
    rows = [tuple(_as(kind, run[column]) for column, kind in columns.items())
            for run in index.runs()]  # fmt: skip
    return _table({name.removesuffix("_us"): kind for name, kind in columns.items()}, rows)


def _as(kind: str, value: Any) -> Any:
    return float(value) if kind == "float64" and value is not None else value


def _table(columns: dict[str, str], rows: list[tuple[Any, ...]]) -> Any:
    import pyarrow as pa

    values = zip(*rows, strict=True) if rows else [()] * len(columns)
    kinds = {name: pa.timestamp("us") if kind == "timestamp[us]" else pa.type_for_alias(kind)
             for name, kind in columns.items()}  # fmt: skip
    return pa.table({
        name: pa.array(list(column), kind)
        for (name, kind), column in zip(kinds.items(), values, strict=True)
    })  # fmt: skip


_SMALL = {
    "series": _series, "configs": _configs, "tags": _tags, "runs": _runs, "lineage": _lineage,
}  # fmt: skip
