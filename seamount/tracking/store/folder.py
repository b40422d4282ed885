"""A tracking store: one folder, no server; layout, run identity, and the way in for readers.

format.json            {"format": "seamount-tracking", "version": 2}
segments/RUN/run.json  identity of a run: id, project, name, owner, creation (never changed)
segments/RUN/*.seg     what its processes logged (seamount.tracking.segments.codec); the truth
blobs/ab/SHA256        content of assigned files, each stored once
artifacts/runs/RUN/    the run's files under their names (hard links to blobs)
points/RUN/*.parquet   metric points in columns, made from the segments (parts.py)
index.db               SQLite, made from the segments and remade from them if it is removed
mlflow.db              MLflow's own tables, kept up to date by the plugin
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core import settings
from seamount.core.durable import fsync_file, fsync_folder
from seamount.core.errors import CorruptData, UserError, explain_os_error
from seamount.tracking.names import (
    check_name,
    check_run_id,
    check_text,
    is_run_id,
    store_folder,
    store_uri,
)
from seamount.tracking.store import forks

if TYPE_CHECKING:
    from seamount.tracking.store.forks import Fork
    from seamount.tracking.store.index import Index

FORMAT = "seamount-tracking"
VERSION = 2  # 1 had points in index.db; what it logged is read as it is
MAX_PROJECT_BYTES = 500


@dataclass(frozen=True)
class RunIdentity:
    """What is fixed when a run is made; `created_us` counts microseconds since 1970 UTC.

    A fork names its parent and the last step it takes over; `inherited_configs` are the parent's as
    they then stood, None where none were taken.
    """

    run_id: str
    project: str
    name: str
    owner: str
    created_us: int
    fork_run_id: str | None = None
    fork_step: int | float | None = None
    inherited_configs: dict[str, Any] | None = None

    def to_json(self) -> bytes:
        """As it stands in run.json: what is None is left out."""
        return json.dumps({k: v for k, v in asdict(self).items() if v is not None}).encode()


@dataclass(frozen=True)
class Store:
    """The store in `folder`; made by `open_store`."""

    folder: Path

    @property
    def uri(self) -> str:
        """Address to give to Run, to `--store` or to mlflow.set_tracking_uri."""
        return store_uri(self.folder)

    @property
    def segments(self) -> Path:
        """Folder with one folder a run."""
        return self.folder / "segments"

    def run_folder(self, run_id: str) -> Path:
        """Folder of a run's segments."""
        return self.segments / check_run_id(run_id)

    def artifact_folder(self, run_id: str) -> Path:
        """Folder of a run's files under their names."""
        return self.folder / "artifacts" / "runs" / check_run_id(run_id)

    def run_ids(self) -> list[str]:
        """Every run that has a folder, sorted."""
        with os.scandir(self.segments) as entries:
            return sorted(e.name for e in entries if is_run_id(e.name) and e.is_dir())

    def identity(self, run_id: str) -> RunIdentity | None:
        """The identity of a run, None if there is no such run."""
        path = self.run_folder(run_id) / "run.json"
        try:
            found = RunIdentity(**json.loads(path.read_text()))
            forks.check_stored(found)
            return found
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, UserError) as error:
            raise CorruptData(f"{path} is damaged: {error}") from error

    def claim(
        self, run_id: str, project: str | None, name: str | None, fork: Fork | None = None
    ) -> tuple[RunIdentity, bool]:
        """The identity of `run_id` and whether this call made it; safe for racing processes.

        Raises UserError where the run exists under another project or was not forked so.
        """
        folder = self.run_folder(run_id)
        check_name(name or run_id, "run name")
        found, made = self.identity(run_id), False
        if found is None:
            wanted = self._new(run_id, project, name, fork)
            folder.mkdir(exist_ok=True)
            made = _write_once(folder / "run.json", wanted.to_json())
            found = wanted if made else self.identity(run_id)
        if found is None:
            raise UserError(f"run {run_id!r} was removed from {self.uri} just now: start it again")
        if project is not None and found.project != project:
            raise UserError(
                f"run {run_id!r} exists in project {found.project!r}, not {project!r}: "
                "choose another run_id (it is unique in a store) or leave out the project"
            )
        if fork is not None and not made:
            forks.check_same(found, fork)
        return found, made

    def adopt(self, wanted: RunIdentity) -> tuple[RunIdentity, bool]:
        """The identity of a run that comes from another store, as `claim` gives it.

        Raises UserError where the run exists here under another project, or was forked otherwise.
        """
        run_id = wanted.run_id
        self.run_folder(run_id).mkdir(exist_ok=True)
        made = _write_once(self.run_folder(run_id) / "run.json", wanted.to_json())
        found = wanted if made else self.identity(run_id)
        if found is None:
            raise UserError(f"run {run_id!r} was removed from {self.uri} just now: send it again")
        for what in ("project", "fork_run_id", "fork_step"):
            here, there = getattr(found, what), getattr(wanted, what)
            if here != there:
                raise UserError(
                    f"run {run_id!r} exists in {what.replace('_', ' ')} {here!r}, not {there!r}: "
                    "choose another run_id (it is unique in a store)"
                )
        return found, made

    def _new(
        self, run_id: str, project: str | None, name: str | None, fork: Fork | None
    ) -> RunIdentity:
        """The identity of a run to be made; a fork goes to its parent's project by itself."""
        taken: dict[str, Any] = {}
        if fork is not None:
            parent = forks.parent_of(self, run_id, fork)
            project = project or parent.project
            taken = {"fork_run_id": fork.run_id, "fork_step": fork.step}
            if fork.inherit_configs:
                taken["inherited_configs"] = forks.configs_of(self, fork.run_id)
        return RunIdentity(
            run_id,
            check_text(project or settings.tracking_project(), "project", MAX_PROJECT_BYTES),
            name or run_id,
            _user(),
            time.time_ns() // 1000,
            **taken,
        )

    def refresh(self, run_id: str | None = None, *, light: bool = False) -> None:
        """Take everything that was logged (by one run, or by all) into the index.

        `light` is for a process that trains: nothing heavy is imported, no points are compacted.
        """
        from seamount.tracking.store.ingest import ingest

        with self.index() as index:
            ingest(self, index, run_id, light=light)
            if not light:
                from seamount.tracking.points.compaction import compact_due

                compact_due(index, run_id)

    @contextmanager
    def index(self) -> Iterator[Index]:
        """The index as it stands (call `refresh` first to see what was just logged)."""
        from seamount.tracking.store.index import open_index
        from seamount.tracking.store.schema import explained

        path = self.folder / "index.db"
        with explained(path), closing(open_index(path)) as index:
            yield index


def open_store(uri: str | Path | None = None, *, create: bool = True) -> Store:
    """The store at `uri` (default: settings.tracking_uri()), made if absent and `create`."""
    folder = store_folder(uri or settings.tracking_uri())
    mark = folder / "format.json"
    try:
        if not mark.exists():
            if not create:
                raise UserError(f"no tracking store in {folder}: check --store, or log a run first")
            (folder / "segments").mkdir(parents=True, exist_ok=True)
            text = json.dumps({"format": FORMAT, "version": VERSION}) + "\n"
            _write_once(mark, text.encode())
            fsync_file(mark)
            fsync_folder(folder)
        if _check_format(mark) < VERSION:
            _migrate(folder)
    except OSError as error:
        raise explain_os_error(error, f"opening the tracking store in {folder}") from error
    return Store(folder)


def _check_format(mark: Path) -> int:
    try:
        found = json.loads(mark.read_text())
        name, version = found["format"], int(found["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise CorruptData(f"{mark} does not describe a tracking store: {error}") from error
    if name != FORMAT or version > VERSION:
        raise UserError(f"{mark} says {name} version {version}: this seamount reads {VERSION}")
    return version


def _migrate(folder: Path) -> None:
    """Bring a store of version 1 to 2: its index goes, and is made again from the segments."""
    from seamount.core import locks, storage
    from seamount.tracking.store.schema import remove_index

    mark = folder / "format.json"
    with locks.held(folder / "index.lock"):
        if _check_format(mark) < VERSION:
            remove_index(folder)
            text = json.dumps({"format": FORMAT, "version": VERSION}) + "\n"
            storage.write_bytes(str(mark), text.encode())


def _write_once(path: Path, content: bytes) -> bool:
    """Create `path` whole unless it exists; True for the one caller that made it."""
    if path.exists():
        return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        temporary.write_bytes(content)
        os.link(temporary, path)
        return True
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
