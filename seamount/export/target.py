"""The folder an export is published to: what may stand there, and how it appears whole."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seamount.core import lineage, storage
from seamount.core.errors import UserError, explain_os_error


def refuse_foreign(out: str, model: str, data: str | None = None) -> None:
    """Raise UserError where publishing to `out` would replace, or mix with, what is no export.

    `model` and `data` are what the export reads; `out` may stand beside them, not in or above
    them. Only an earlier export is replaced.
    """
    target = storage.local_path(out).resolve()
    for role, source in (("model", model), ("data", data)):
        if source is not None and storage.is_local(source):
            _refuse_overlap(out, target, role, storage.local_path(source).resolve())
    if not target.exists():
        return
    if not target.is_dir():
        raise UserError(f"{out!r} is a file: give a folder to export to")
    if any(target.iterdir()) and (kind := _kind(target)) != "export":
        found = "not an export" if kind is None else f"a {kind}, not an export"
        raise UserError(f"{out!r} exists and is {found}: choose another --out")


def _refuse_overlap(out: str, target: Path, role: str, source: Path) -> None:
    if target == source:
        place = "is"
    elif target.is_relative_to(source):
        place = "lies in"
    elif source.is_relative_to(target):
        place = "contains"
    else:
        return
    raise UserError(
        f"the output {out!r} {place} the {role} this export reads ({source}): choose another --out"
    )


def _kind(target: Path) -> str | None:
    """What the lineage there calls itself, None without one."""
    known = (target / lineage.FILE_NAME).exists()
    return lineage.read(str(target)).kind if known else None


@contextmanager
def published(out: str) -> Iterator[str]:
    """A folder to work in that becomes `out` at the end; what stood there is replaced.

    Call `refuse_foreign` first.
    """
    target = storage.local_path(out).resolve()
    work = target.parent / f".{target.name}.partial-{uuid.uuid4().hex[:12]}"
    try:
        work.mkdir(parents=True)
        yield str(work)
        _swap(work, target)
    except OSError as error:
        raise explain_os_error(error, f"writing {out}") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _swap(work: Path, target: Path) -> None:
    old = work.with_name(work.name.replace("partial", "old"))
    if target.exists():
        os.replace(target, old)
    os.replace(work, target)
    shutil.rmtree(old, ignore_errors=True)
