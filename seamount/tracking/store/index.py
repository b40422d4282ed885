"""The index: SQLite tables made from the segments, and the questions readers ask of them.

It holds nothing that the segments do not: remove index.db, and the next reader makes it again.
NaN is stored as NULL (SQLite has none) and comes back as NaN. Points are not in it: they stand in
columns (seamount.tracking.points.history), and are asked for here.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core.errors import UserError
from seamount.tracking.configs import digest
from seamount.tracking.store.entries import Point, Summary
from seamount.tracking.store.inherited import joined_summaries
from seamount.tracking.store.lineage import ancestors, inherited_series, is_fork, metric_keys
from seamount.tracking.store.schema import open_database

if TYPE_CHECKING:
    from seamount.tracking.points.columns import Columns


@dataclass
class Index:
    """An open index of the store in `folder`; use `Store.index()`."""

    db: sqlite3.Connection
    folder: Path

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    @property
    def identity(self) -> tuple[str, int]:
        """(id of this index, its newest revision); a rebuilt index has another id."""
        return self.db.execute("SELECT index_id, revision FROM identity").fetchone()

    def runs(self, project: str | None = None, *, deleted: bool = False) -> list[dict[str, Any]]:
        """Rows of the runs table, newest first."""
        return self._rows(
            "SELECT * FROM runs WHERE deleted <= ? AND (?2 IS NULL OR project = ?2) "
            "ORDER BY created_us DESC, run_id",
            (int(deleted), project),
        )

    def run(self, run_id: str) -> dict[str, Any]:
        """Row of one run; raises UserError where there is none."""
        rows = self._rows("SELECT * FROM runs WHERE run_id = ?", (run_id,))
        if not rows:
            raise UserError(f"no run {run_id!r} in this store: `seamount track ls` lists them")
        return rows[0]

    def changed_since(self, revision: int) -> list[dict[str, Any]]:
        """Runs that changed after `revision`, oldest change first."""
        return self._rows("SELECT * FROM runs WHERE revision > ? ORDER BY revision", (revision,))

    def segments(self, run_id: str) -> list[dict[str, Any]]:
        """Rows of the run's segments, by rank, attempt, start and part."""
        return self._rows(
            "SELECT * FROM segments WHERE run_id = ? ORDER BY rank, attempt, start_us, part",
            (run_id,),
        )

    def tags(self, run_id: str) -> dict[str, str]:
        """Tags as they now stand."""
        query = "SELECT key, value FROM tags WHERE run_id = ? AND value IS NOT NULL ORDER BY key"
        return dict(self.db.execute(query, (run_id,)).fetchall())

    def removed_tags(self, run_id: str) -> list[str]:
        """Names of the tags that were taken away."""
        query = "SELECT key FROM tags WHERE run_id = ? AND value IS NULL"
        return [key for (key,) in self.db.execute(query, (run_id,))]

    def config(self, run_id: str) -> dict[str, Any]:
        """The values of the newest snapshot."""
        query = "SELECT data FROM configs WHERE run_id = ? ORDER BY time_us, segment_id, sequence"
        values: dict[str, Any] = {}
        for (data,) in self.db.execute(query, (run_id,)):
            values |= json.loads(data)
        return values

    def configs(self, run_id: str) -> list[dict[str, Any]]:
        """Snapshots in order: {"digest", "time_us", "values"}; each holds the earlier values too.

        A snapshot is the configuration as it stood after a log_configs call that changed it. The
        first of a fork is its parent's ("inherited_from"), where it took that over.
        """
        query = (
            "SELECT iif(origin IS NULL, time_us, created_us), data, origin FROM configs"
            " JOIN runs USING (run_id) WHERE run_id = ? ORDER BY time_us, segment_id, sequence"
        )
        snapshots: list[dict[str, Any]] = []
        values: dict[str, Any] = {}
        for time_us, data, origin in self.db.execute(query, (run_id,)):
            values = values | json.loads(data)
            content_hash = digest(values)
            if not snapshots or snapshots[-1]["digest"] != content_hash:
                snapshots.append({"digest": content_hash, "time_us": time_us, "values": values})
                if origin is not None:
                    snapshots[-1]["inherited_from"] = origin
        return snapshots

    def files(self, run_id: str) -> dict[str, dict[str, Any]]:
        """Name -> {"digest", "size_bytes", "versions"} of the newest version of each file."""
        newest: dict[str, dict[str, Any]] = {}
        query = "SELECT name, digest, size_bytes FROM files WHERE run_id = ?"
        query += " ORDER BY name, time_us, segment_id"
        for name, content_hash, size in self.db.execute(query, (run_id,)):
            versions = newest.get(name, {"versions": 0})["versions"] + 1
            newest[name] = {"digest": content_hash, "size_bytes": size, "versions": versions}
        return newest

    def summaries(self, run_id: str, since: int = -1, *, lineage: bool = True) -> list[Summary]:
        """Every metric of every rank (whose revision is above `since`), by name and rank.

        Of a fork all are given, with what its ancestors lend it, unless not `lineage`.
        """
        if lineage and is_fork(self, run_id):
            return joined_summaries(self, run_id)
        query = (
            "SELECT name, rank, points, bad, last_step, last_us, last_value, min_value, max_value "
            "FROM series WHERE run_id = ?1 AND points > 0 ORDER BY name, rank, attempt"
        )
        values: tuple[Any, ...] = (run_id,)
        if since >= 0:
            changed = "(SELECT name, rank FROM series WHERE run_id = ?1 AND revision > ?2)"
            query = query.replace("ORDER", f"AND (name, rank) IN {changed} ORDER")
            values = (run_id, since)
        found: dict[Any, Summary] = {}
        for row in self.db.execute(query, values):
            older = found.get(row[:2])
            points, bad = row[2], row[3]
            if older is not None:
                points, bad = points + older.points, bad + older.bad
            found[row[:2]] = Summary(
                row[0], row[1], points, bad, row[4], row[5], _real(row[6]), row[7], row[8]
            )
        return list(found.values())

    def has_metric(
        self,
        run_id: str,
        name: str,
        rank: int,
        *,
        lineage: bool = True,
        include_previews: bool = False,
    ) -> bool:
        """Whether `rank` logged a metric of this name, or an ancestor lends one."""
        counted = "points + previews" if include_previews else "points"
        query = (
            f"SELECT 1 FROM series WHERE run_id = ? AND name = ? AND rank = ? AND {counted} > 0"
            " LIMIT 1"
        )
        if self.db.execute(query, (run_id, name, rank)).fetchone() is not None:
            return True
        return lineage and is_fork(self, run_id) and (name, rank) in metric_keys(
            self, run_id, include_previews=include_previews
        )  # fmt: skip

    def history(self, run_id: str, name: str, rank: int = 0, **which: Any) -> list[Point]:
        """Points of a metric by step, then time, as `columns` gives them.

        Works without numpy and pyarrow too, from the segments alone.
        """
        from seamount.tracking.points import history

        if history.has_columns():
            return history.columns(self, run_id, name, rank, **which).points()
        return history.plain_points(self, run_id, name, rank, **which)

    def columns(
        self,
        run_id: str,
        name: str,
        rank: int = 0,
        *,
        attempt: int | None = None,
        lineage: bool = True,
        include_previews: bool = False,
    ) -> Columns:
        """Points of a metric by step, then time; of one attempt, or as the attempts follow on.

        A restarted rank logs under a new attempt: of each attempt the points below the first step
        of the later ones are shown. A fork has its ancestors' points up to its fork step before
        its own, unless not `lineage` or an attempt is named; raises UserError where one is gone.
        """
        from seamount.tracking.points import history

        return history.columns(
            self, run_id, name, rank,
            attempt=attempt, lineage=lineage, include_previews=include_previews,
        )  # fmt: skip

    def next_steps(self, run_id: str, rank: int, *, own: bool = True) -> dict[str, int]:
        """Metric name -> the whole step after its last one, for numbering that goes on.

        It goes on behind what a fork inherits, and behind its `own` points too.
        """
        query = (
            "SELECT name, max(last_step) FROM series WHERE run_id = ? AND rank = ? AND points > 0"
            " GROUP BY name"
        )
        found: dict[str, int] = {}
        if own:
            rows = self.db.execute(query, (run_id, rank)).fetchall()
            found = {name: int(last // 1) + 1 for name, last in rows}
        for ancestor in ancestors(self, run_id):
            for row in inherited_series(self, ancestor):
                # Where the ancestor went on, its last step to lend is not known without reading.
                name, last = row[0], min(row[5], ancestor.up_to)
                if row[1] == rank:
                    found[name] = max(found.get(name, 0), int(last // 1) + 1)
        return found

    def _rows(self, query: str, values: tuple[Any, ...]) -> list[dict[str, Any]]:
        cursor = self.db.execute(query, values)
        columns = [column[0] for column in cursor.description]
        return [dict(zip(columns, row, strict=True)) for row in cursor]


def open_index(path: Path) -> Index:
    """Open the index in the file `path`, made where needed."""
    return Index(open_database(path), path.parent)


def _real(value: float | None) -> float:
    return float("nan") if value is None else value
