"""One run as a query hands it out: configs, tags, metrics, files and points, read when asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, UserError, explain_os_error
from seamount.core.registry import unknown
from seamount.tracking.artifacts import blob_path, digest_of, is_partial, partial_name
from seamount.tracking.names import check_artifact_path
from seamount.tracking.query.attributes import IndexSource, duration_s, error_text
from seamount.tracking.query.filter_parser import parse_operand
from seamount.tracking.query.filters import TIME
from seamount.tracking.query.frames import Frame, frame, moment
from seamount.tracking.query.histories import split_rank
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Summary
from seamount.tracking.store.lineage import metric_keys
from seamount.tracking.store.series import string_keys, strings


@dataclass
class RunView:
    """A run of a store. `run["last(loss)"]`, `run["config.lr"]`: any attribute a filter knows,
    None where the run has none."""

    store: Store
    row: dict[str, Any]
    known: dict[str, Any] = field(default_factory=dict, repr=False)

    def __getattr__(self, name: str) -> Any:
        if name in ("run_id", "project", "name", "owner", "state"):
            return self.row[name]
        raise AttributeError(name)

    def __getitem__(self, attribute: str) -> Any:
        if attribute not in self.known:
            operand = parse_operand(attribute)
            with self.store.index() as index:
                values = IndexSource(index, {self.run_id: self.row}).values(operand, [self.run_id])
            value = values.get(self.run_id)
            self.known[attribute] = (
                moment(value) if operand.type == TIME and value is not None else value
            )
        return self.known[attribute]

    @property
    def error(self) -> str | None:
        """`TYPE: message` of what ended the run, if an exception did."""
        return error_text(self.row)

    @property
    def duration_s(self) -> float | None:
        """Seconds from creation to end (or to now, while it runs)."""
        return duration_s(self.row)

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        """Every configuration in order: {"digest", "time_us", "values"}."""
        with self.store.index() as index:
            return index.configs(self.run_id)

    @property
    def configs(self) -> dict[str, Any]:
        """The newest configuration."""
        snapshots = self.snapshots
        return snapshots[-1]["values"] if snapshots else {}

    @property
    def tags(self) -> dict[str, str]:
        """Tags as they now stand."""
        with self.store.index() as index:
            return index.tags(self.run_id)

    @property
    def metrics(self) -> dict[str, Summary]:
        """Metric name (`NAME@RANK` for other ranks than 0) -> its summary."""
        with self.store.index() as index:
            found = index.summaries(self.run_id)
        return {f"{s.name}@{s.rank}" if s.rank else s.name: s for s in found}

    @property
    def artifacts(self) -> dict[str, dict[str, Any]]:
        """File name -> {"size_bytes", "digest", "versions"}.

        Files that MLflow's clients stored have digest None and one version.
        """
        with self.store.index() as index:
            files = index.files(self.run_id)
        plain = {"digest": None, "versions": 1}
        foreign = {
            name: plain | {"size_bytes": path.stat().st_size}
            for name, path in self._shown().items()
            if name not in files
        }
        return dict(sorted((foreign | files).items()))

    def files_of(self, name: str) -> dict[str, dict[str, Any]]:
        """The entries of the file `name`, or of all files below a folder of that name.

        Raises UserError where the run has neither.
        """
        every = self.artifacts
        found = {n: e for n, e in every.items() if n == name or n.startswith(f"{name}/")}
        if not found:
            raise unknown("file", name, list(every))
        return found

    def series(
        self,
        name: str,
        rank: int = 0,
        *,
        lineage: bool = True,
        include_previews: bool = False,
    ) -> Frame:
        """A metric's points by step (`step`, `value`, `time`), or a string series.

        With previews also `preview` and `preview_completion`. A fork has its ancestors' before its
        own unless not `lineage`; raises UserError where one is gone.
        """
        how = {"lineage": lineage, "include_previews": include_previews}
        with self.store.index() as index:
            for metric, of_rank in split_rank(name) if rank == 0 else [(name, rank)]:
                if index.has_metric(self.run_id, metric, of_rank, **how):
                    columns = ["step", "value", "time_us"]
                    columns += ["preview", "preview_completion"] if include_previews else []
                    points = index.history(self.run_id, metric, of_rank, **how)
                    rows = [tuple(getattr(p, each) for each in columns) for p in points]
                    return frame([c.removesuffix("_us") for c in columns], rows, ["time"])
            texts = strings(index, self.run_id, name, rank, lineage=lineage)
            if not texts:
                keys = [
                    *metric_keys(index, self.run_id, **how),
                    *string_keys(index, self.run_id, lineage=lineage),
                ]
                raise unknown("series", name, sorted({text for text, _ in keys}))
            return frame(("step", "value"), texts)

    def download(self, name: str, to: str | Path = ".", *, version: int = -1) -> Path:
        """Copy a file, or all files below a folder's name, into the folder `to`.

        `version` counts a file's versions from 0, or from the newest as -1. Content is checked
        against the digest it was logged with. Returns the path of the copy; raises UserError for
        an unknown name, CorruptData for changed content.
        """
        check_artifact_path(name)
        target = Path(to) / name
        try:
            for each in self.files_of(name):
                self.copy_to(each, Path(to) / each, version)
        except OSError as error:
            raise explain_os_error(error, f"downloading {name} to {to}") from error
        return target

    def file_path(self, name: str) -> Path:
        """Where a file or folder of the run lies in the store, to be read only."""
        check_artifact_path(name)
        for root in self.roots():
            if (root / name).exists():
                return root / name
        raise unknown("file", name, list(self.artifacts))

    def copy_to(self, name: str, target: Path, version: int = -1) -> None:
        """Copy one file to the path `target`, its content checked."""
        digest, source = self._content(name, version)
        if digest is not None and (not source.is_file() or digest_of(source) != digest):
            raise CorruptData(
                f"file {name} of run {self.run_id} is not what was logged: its content is gone or "
                "was changed (`seamount track verify` names all such files)"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = partial_name(target)
        try:
            shutil.copyfile(source, partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)

    def _content(self, name: str, version: int) -> tuple[str | None, Path]:
        query = (
            "SELECT digest, time_us, segment_id FROM files WHERE run_id = ?1 AND name = ?2"
            " UNION ALL SELECT digest, time_us, segment_id FROM file_series"
            " WHERE run_id = ?1 AND path = ?2 ORDER BY time_us, segment_id"
        )
        with self.store.index() as index:
            digests = [d for d, *_ in index.db.execute(query, (self.run_id, name))]
        if not digests:
            return None, self._shown()[name]
        if not -len(digests) <= version < len(digests):
            raise UserError(f"file {name} has {len(digests)} versions, there is none {version}")
        return digests[version], blob_path(self.store, digests[version])

    def _shown(self) -> dict[str, Path]:
        """Files in the run's artifact folders, ours and that of MLflow's clients."""
        return {
            path.relative_to(root).as_posix(): path
            for root in self.roots()
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink() and not is_partial(path)
        }

    def roots(self) -> list[Path]:
        """The folders of the run's files under their names: ours, and those of MLflow's clients."""
        foreign = (self.store.folder / "artifacts").glob(f"[0-9]*/{self.run_id}/artifacts")
        return [self.store.artifact_folder(self.run_id), *foreign]

    def to_dict(self) -> dict[str, Any]:
        """The run's row as JSON values, times in microseconds since 1970 UTC."""
        return plain_row(self.row)


_ROW = (
    "run_id", "project", "name", "owner", "state", "created_us", "ended_us", "fork_run_id",
    "fork_step",
)  # fmt: skip


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the runs table as JSON values."""
    error = json.loads(row["error"]) if row["error"] else None
    return {name: row[name] for name in _ROW} | {"error": error}
