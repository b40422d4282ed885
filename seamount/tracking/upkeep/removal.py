"""One deleted run taken away for good, step by step, so that a dead process leaves no half of it.

trash/RUN/plan.json   what is to be removed: {"digests": [...]}, written first and removed last
trash/RUN/...         the run's folders, moved here

Artifact folders are moved first, the segments last: until then all can be put back, and is, if the
process dies. Once the segments are in the trash the run is gone, and whoever comes next (the next
`seamount track gc`) takes its rows, columns and contents away. Contents are shared by runs: one
goes only if no name and no record needs it, and comes back if it got one while it was moved.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from seamount.core import locks, storage
from seamount.core.errors import CorruptData
from seamount.tracking.artifacts import blob_path
from seamount.tracking.segments.reader import header_of
from seamount.tracking.segments.strands import segment_files, writer_lives
from seamount.tracking.store.folder import Store
from seamount.tracking.store.index import Index
from seamount.tracking.store.schema import transaction
from seamount.tracking.upkeep.usage import experiment_folders

_DIGESTS = """SELECT digest FROM files WHERE run_id = ?1
    UNION SELECT digest FROM file_series WHERE run_id = ?1"""
_NEEDED = """SELECT EXISTS (SELECT 1 FROM files WHERE digest = ?1)
    OR EXISTS (SELECT 1 FROM file_series WHERE digest = ?1)"""


def remove(store: Store, index: Index, run_id: str) -> bool:
    """Remove a run that is marked as deleted; False, and nothing done, where a process logs it."""
    if is_logged(store.run_folder(run_id)):
        return False
    digests = [digest for (digest,) in index.db.execute(_DIGESTS, (run_id,))]
    trash = trash_of(store, run_id)
    trash.mkdir(parents=True, exist_ok=True)
    storage.write_bytes(str(trash / "plan.json"), json.dumps({"digests": digests}).encode())
    for source, target in _folders(store, run_id):
        _move(source, target)
    if is_logged(trash / "segments"):
        _put_back(store, run_id)  # a process resumed it just now
        return False
    _finish(store, index, run_id)
    return True


def go_on(store: Store, index: Index, run_id: str) -> None:
    """End what a dead process had begun: forward if the run was gone already, else back."""
    if (trash_of(store, run_id) / "segments").exists():
        _finish(store, index, run_id)
    else:
        _put_back(store, run_id)


def begun(store: Store) -> list[str]:
    """Runs whose removal was begun and not ended."""
    with suppress(FileNotFoundError):
        return sorted(os.listdir(store.folder / "trash"))
    return []


def is_logged(folder: Path) -> bool:
    """Whether a process of a trainer lives that logs this run (or watches one).

    MLflow's clients do not count: what they log to a deleted run is refused.
    """
    for path in segment_files(folder):
        try:
            header, _ = header_of(path)
            role, host = header.role, header.host
        except CorruptData:
            role, host = "unknown", path.name.split(".")[2]
        if role != "client" and writer_lives(path, host):
            return True
    return False


def trash_of(store: Store, run_id: str) -> Path:
    """Where a run goes on its way out."""
    return store.folder / "trash" / run_id


def _folders(store: Store, run_id: str) -> Iterator[tuple[Path, Path]]:
    """(place, place in the trash) of a run's folders, the segments last."""
    trash = trash_of(store, run_id)
    yield store.artifact_folder(run_id), trash / "artifacts"
    for folder in experiment_folders(store):
        yield folder / run_id, trash / f"artifacts-{folder.parent.name}-{folder.name}"
    yield store.run_folder(run_id), trash / "segments"


def _move(source: Path, target: Path) -> None:
    """Rename a folder, if it is there; into a folder made anew meanwhile, what that one lacks."""
    try:
        os.rename(source, target)
    except FileNotFoundError:
        return
    except OSError:
        if not (source.is_dir() and target.is_dir()):
            raise
        for entry in list(source.iterdir()):
            if entry.is_dir() or not (target / entry.name).exists():
                _move(entry, target / entry.name)


def _put_back(store: Store, run_id: str) -> None:
    for place, trashed in _folders(store, run_id):
        _move(trashed, place)
    shutil.rmtree(trash_of(store, run_id))


def _finish(store: Store, index: Index, run_id: str) -> None:
    trash = trash_of(store, run_id)
    # No pass of the mirror may run meanwhile: it would write back what it has read before.
    with locks.held(store.folder / "mirror.lock"):
        _drop_index_rows(index, run_id)
        _drop_mlflow_rows(store, run_id)
    shutil.rmtree(store.folder / "points" / run_id, ignore_errors=True)
    for folder in sorted(trash.glob("artifacts*")):
        shutil.rmtree(folder)
    digests = json.loads((trash / "plan.json").read_bytes())["digests"]
    _drop_contents(store, index, digests, trash / "blobs")
    shutil.rmtree(trash / "segments")
    (trash / "plan.json").unlink()
    shutil.rmtree(trash)


def _drop_index_rows(index: Index, run_id: str) -> None:
    """All that index.db says of a run; a new run of this name would be taken in anew."""
    with transaction(index.db):
        own = "(SELECT id FROM segments WHERE run_id = ?)"
        index.db.execute(f"DELETE FROM sets WHERE segment_id IN {own}", (run_id,))
        for table in _tables_with(index.db, "run_id"):
            index.db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))


def _drop_mlflow_rows(store: Store, run_id: str) -> None:
    """The tables that MLflow's own `gc` clears for a run."""
    path = store.folder / "mlflow.db"
    if not path.exists():
        return
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as db, transaction(db):
        for table in _tables_with(db, "run_uuid"):
            db.execute(f"DELETE FROM {table} WHERE run_uuid = ?", (run_id,))


def _tables_with(db: sqlite3.Connection, column: str) -> list[str]:
    query = """SELECT t.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
        WHERE t.type = 'table' AND c.name = ?"""
    return [name for (name,) in db.execute(query, (column,))]


def _drop_contents(store: Store, index: Index, digests: list[str], trash: Path) -> None:
    trash.mkdir(exist_ok=True)
    for digest in digests:
        blob = blob_path(store, digest)
        with suppress(FileNotFoundError):
            if not _is_needed(index, blob):
                os.rename(blob, trash / digest)
    store.refresh()  # a trainer may have got a content of this kind just before it was moved
    for blob in trash.iterdir():
        if _is_needed(index, blob):
            os.rename(blob, blob_path(store, blob.name))
        else:
            blob.unlink()
    trash.rmdir()


def _is_needed(index: Index, blob: Path) -> bool:
    """Whether a run shows the content under a name, or a record speaks of it."""
    return blob.stat().st_nlink > 1 or bool(index.db.execute(_NEEDED, (blob.name,)).fetchone()[0])
