"""Loads the runs of a source into a store: each one whole or not at all, and none twice.

A new run is built in a hidden folder beside the others and gets its name at the very end. A run
that is there and whose source has changed since gets one more segment, with what it lacks. What was
imported from where is noted in the run's folder (import.json), so that an unchanged one is left be.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from seamount.core import locks, registry, settings, storage
from seamount.core.durable import fsync_folder
from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError
from seamount.tracking.importing import fitting, ids, known
from seamount.tracking.importing.records import (
    Config,
    Origin,
    Points,
    Report,
    SourceRun,
    Tags,
    Unreadable,
    explained,
)
from seamount.tracking.importing.writer import ImportWriter
from seamount.tracking.names import store_folder
from seamount.tracking.store.folder import MAX_PROJECT_BYTES, RunIdentity, Store, open_store

SOURCES = "seamount.tracking.importers"
_TEMPORARY = ".import-"

Row = dict[str, Any]


def kind_of(address: str) -> str:
    """The kind of source at `address`; raises UserError where none is recognised."""
    names = registry.available(SOURCES)
    for name in names:
        if registry.load(SOURCES, name, "source").recognises(address):
            return name
    raise UserError(
        f"{address!r} is not recognised: name its kind with --from ({', '.join(names)})"
    )


def load(
    address: str,
    store: str | Path | None = None,
    *,
    kind: str | None = None,
    project: str | None = None,
    files: tuple[str, ...] = (),
    dry_run: bool = False,
    told: Callable[[Row], None] = lambda row: None,
) -> dict[str, Any]:
    """Import every run of the source at `address`; `told` is called after each.

    Returns {"kind", "source", "store", "runs": [row], "problems": [row], "ok"}; a run's row has its
    outcome: imported, updated, already there, would be imported / updated, or failed (with error:
    so, too, has what cannot be read at all). "ok": none failed.
    `project` replaces the source's own; `files` are folders or URLs whose files may be taken beside
    the source's own. With `dry_run` the source is read and nothing is written.
    """
    kind = kind or kind_of(address)
    source = registry.load(SOURCES, kind, "source")
    opened = _store(store, dry_run)
    origin = Origin(address, files)
    rows = []
    with nullcontext() if dry_run else _alone(opened):
        for run in _runs(source, origin):
            rows.append(_attempt(opened, kind, run, project, dry_run))
            told(rows[-1])
    return {
        "kind": kind,
        "source": address,
        "store": opened.uri,
        "runs": rows,
        "problems": origin.report.rows(),
        "ok": all(row["outcome"] != "failed" for row in rows),
    }


def _runs(source: Any, origin: Origin) -> Iterator[SourceRun | Unreadable]:
    """The source's runs; what its reader trips over comes out as one sentence."""
    try:
        yield from source.runs(origin)
    except (SeamountError, OSError, GeneratorExit):
        raise
    except Exception as error:
        raise CorruptData(
            f"{origin.address!r} cannot be read ({type(error).__name__}: {error!s:.200}): it is "
            "damaged, or of another kind than --from says"
        ) from error


def _store(store: str | Path | None, dry_run: bool) -> Store:
    """The store to import into; a dry run makes none."""
    folder = store_folder(store or settings.tracking_uri())
    absent = dry_run and not (folder / "format.json").exists()
    return Store(folder) if absent else open_store(store)


def _attempt(
    store: Store, kind: str, run: SourceRun | Unreadable, project: str | None, dry: bool
) -> Row:
    """One run; what is wrong with it does not stop the others (a full disk does)."""
    if isinstance(run, Unreadable):
        return _row(run.source_id, run.source_id) | {"outcome": "failed", "error": run.error}
    report, row = Report(), _row(run.wanted_id, run.name)
    try:
        found = _one(store, kind, run, project, report, dry)
        return row | {"problems": report.rows()} | found
    except Exception as error:  # a damaged source may fail anywhere in its reader
        told = explained(error, f"run {run.wanted_id}")
        if isinstance(told, DiskFull):
            raise told from error
        return row | {"problems": report.rows(), "outcome": "failed", "error": str(told)}


def _row(source_id: str, name: str) -> Row:
    return {"source_id": source_id, "run_id": None, "name": name, "counts": {}, "problems": []}


def _one(
    store: Store, kind: str, run: SourceRun, project: str | None, report: Report, dry: bool
) -> Row:
    run.created_us = max(0, fitting.time_us(run.created_us, 0, report))
    run_id, noted = ids.choose(store, kind, run.key, run.wanted_id)
    if noted and noted.get("fingerprint") == run.fingerprint and not noted.get("again"):
        told = noted.get("problems", [])
        return {"run_id": run_id, "outcome": "already there", "problems": told}
    identity = _identity(run, run_id, project, report)
    folder = store.segments / f"{_TEMPORARY}{run_id}"
    if dry:
        return _read_only(run, report, run_id, noted)
    folder.mkdir()
    there = known.read(store, run_id) if noted else known.Known()
    writer = ImportWriter(store, run_id, run, report, there)
    try:
        number = noted.get("imports", 0) if noted else 0
        writer.open(folder, number + 1)
        try:
            _fill(writer, store, kind, run, run_id, noted, report)
        except BaseException:
            writer.abandon()
            raise
        note = _note(kind, run, number + 1, report)
        if noted is None:
            fork = _fork(store, kind, run, run_id, Report())
            _place_new(store, folder, replace(identity, **fork), note)
        elif writer.counts:
            _place_more(store, folder, run_id, note)
        else:
            storage.write_json(str(store.run_folder(run_id) / ids.NOTE), note)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    outcome = "imported" if noted is None else "updated" if writer.counts else "already there"
    return {"run_id": run_id, "outcome": outcome, "counts": dict(writer.counts)}


def _fill(
    writer: ImportWriter, store: Store, kind: str, run: SourceRun, run_id: str,
    noted: Row | None, report: Report,
) -> None:  # fmt: skip
    for item in run.stream(report):
        writer.write(item)
    tags = {"seamount.imported_from": kind}
    if run_id != run.wanted_id:
        tags["seamount.imported_id"] = run.wanted_id
    if run.fork_key is not None and not _fork(store, kind, run, run_id, report):
        tags["seamount.fork_run_id"] = ids.choose(store, kind, run.fork_key, run.fork_wanted_id)[0]
        if run.fork_step is not None:
            tags["seamount.fork_step"] = f"{run.fork_step:g}"
    writer.write(Tags(tags, run.created_us))
    if run.deleted != bool(noted and noted.get("deleted")):
        writer.deleted(run.deleted)
    writer.close()


def _fork(store: Store, kind: str, run: SourceRun, run_id: str, report: Report) -> Row:
    """What run.json says of a fork; nothing where the parent or its step is not known here."""
    if run.fork_key is None:
        return {}
    made = store.identity(run_id)
    if made is not None:  # a run keeps what it was made as
        return {} if made.fork_run_id is None else {"fork_run_id": made.fork_run_id}
    parent, noted = ids.choose(store, kind, run.fork_key, run.fork_wanted_id)
    step = run.fork_step
    if noted is None or step is None or not math.isfinite(step):
        why = "step is not known" if noted else "parent is not in the store"
        report.add(f"forks whose {why} (kept as tags)", run.wanted_id)
        return {}
    return {"fork_run_id": parent, "fork_step": int(step) if float(step).is_integer() else step}


def _read_only(run: SourceRun, report: Report, run_id: str, noted: Row | None) -> Row:
    """What a dry run says: everything is read, counted by its kind, and let go."""
    counts: dict[str, int] = {}
    for item in run.stream(report):
        what = type(item).__name__.lower()
        many = len(item.values) if isinstance(item, Points | Config | Tags) else 1
        counts[what] = counts.get(what, 0) + many
    outcome = "would be imported" if noted is None else "would be updated"
    return {"run_id": run_id, "outcome": outcome, "counts": counts}


def _identity(run: SourceRun, run_id: str, project: str | None, report: Report) -> RunIdentity:
    return RunIdentity(
        run_id,
        fitting.name(project or run.project, report, "project names", MAX_PROJECT_BYTES),
        fitting.name(run.name or run_id, report, "run names"),
        fitting.name(run.owner or "unknown", report, "owner names"),
        run.created_us,
    )


def _note(kind: str, run: SourceRun, imports: int, report: Report) -> Row:
    return {
        "kind": kind,
        "key": run.key,
        "fingerprint": run.fingerprint,
        "imports": imports,
        "deleted": run.deleted,
        "problems": report.rows(),
        "again": report.again,
    }


def _place_new(store: Store, folder: Path, identity: RunIdentity, note: Row) -> None:
    """Give the whole run its name: from here on it is there."""
    storage.write_bytes(str(folder / "run.json"), identity.to_json())
    storage.write_json(str(folder / ids.NOTE), note)
    fsync_folder(folder)
    os.rename(folder, store.run_folder(identity.run_id))
    fsync_folder(store.segments)


def _place_more(store: Store, folder: Path, run_id: str, note: Row) -> None:
    """Move the new parts in, oldest first; the note last, so that a cut is taken up again."""
    target = store.run_folder(run_id)
    for path in sorted(folder.glob("*.seg")):
        os.rename(path, target / path.name)
    fsync_folder(target)
    storage.write_json(str(target / ids.NOTE), note)


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """One import at a time a store; what an earlier one left unfinished is removed first."""
    with locks.tried(store.folder / "import.lock") as mine:
        if not mine:
            raise UserError(f"another import into {store.uri} is running: wait for its end")
        for left in store.segments.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(left, ignore_errors=True)
        yield
