"""Checkpoints: a torch distributed folder, a manifest with digests, and LATEST that moves last.

    checkpoints/LATEST
    checkpoints/step_00000500/{*.distcp, .metadata, manifest.json, lineage.json}

A folder is written under a temporary name and renamed whole. The newest one whose digests hold is
the one to continue from; any layout of ranks may read it. Parameters stand under "model.<name>",
optimiser state under "optimizer.<name>.<state>", random states under "rng.<rank>".
"""

from __future__ import annotations

import logging
import os
import shutil
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core import lineage, storage
from seamount.core.durable import fsync_folder
from seamount.core.errors import CorruptData, SeamountError, explain_os_error

log = logging.getLogger("seamount")

LATEST = "LATEST"
MANIFEST = "manifest.json"
_TEMPORARY = ".saving-"


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint on disk: its folder, the updates it has seen, and its manifest."""

    folder: Path
    step: int
    manifest: dict[str, Any]


def step_name(step: int) -> str:
    """Name of the folder for `step`."""
    return f"step_{step:08d}"


def find_latest(root: Path) -> Checkpoint | None:
    """The newest whole checkpoint in `root`, None where LATEST was never written.

    A torn or corrupt one is passed over with a word. Raises CorruptData if none is left.
    """
    pointer = root / LATEST
    if not pointer.is_file():
        return None
    newest = pointer.read_text(encoding="utf-8", errors="replace").strip()
    names = sorted((p.name for p in root.glob("step_*") if p.is_dir()), reverse=True)
    candidates = [newest, *(n for n in names if n < newest)]
    for name in candidates:
        try:
            return read_checkpoint(root / name)
        except CorruptData as error:
            log.warning("checkpoint %s is damaged (%s): trying the one before", name, error)
    raise CorruptData(
        f"none of the checkpoints in {root} is whole: start again with --restart, or give "
        "another --out"
    )


def read_checkpoint(folder: Path) -> Checkpoint:
    """The checkpoint in `folder` after its files were held against their digests.

    Raises CorruptData naming the first file that is missing or altered.
    """
    url = folder / MANIFEST
    if not url.is_file():
        raise CorruptData(f"{folder.name} has no {MANIFEST}")
    manifest = storage.read_json(str(url))
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise CorruptData(f"{url} is not a checkpoint manifest")
    for name, wanted in manifest["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != wanted["size_bytes"]:
            raise CorruptData(f"{name} is missing or cut short")
        if storage.sha256(str(path)) != wanted["sha256"]:
            raise CorruptData(f"{name} does not match its digest")
    return Checkpoint(folder, int(manifest["step"]), manifest)


def save(root: Path, step: int, state: dict[str, Any], about: dict[str, Any], keep: int) -> Path:
    """Save `state` (every rank its part) as the checkpoint of `step` and move LATEST to it.

    `about` goes into the manifest (and its "inputs" into lineage.json). The last `keep` stay. A
    collective: all ranks call it. Raises one clear error on every rank that could not write.
    """
    import torch.distributed.checkpoint as dcp

    final = root / step_name(step)
    temporary = root / f"{_TEMPORARY}{_agreed_name()}"
    with _explained(final):
        root.mkdir(parents=True, exist_ok=True)
        with _alone_on_purpose():
            dcp.save(state, checkpoint_id=str(temporary), no_dist=_ranks() == 1)
        if _rank() == 0:
            _publish(temporary, final, step, about)
            _drop_old(root, final.name, keep)
    _barrier()
    return final


def load(checkpoint: Checkpoint, state: dict[str, Any], together: bool = True) -> None:
    """Fill the tensors of `state` in place from `checkpoint`, whatever layout wrote it.

    All ranks call it, unless one reads for itself (`together` False).
    """
    import torch.distributed.checkpoint as dcp

    alone = not together or _ranks() == 1
    with _alone_on_purpose():
        dcp.load(state, checkpoint_id=str(checkpoint.folder), no_dist=alone)


def saved_keys(checkpoint: Checkpoint) -> set[str]:
    """Names of everything saved in `checkpoint`."""
    from torch.distributed.checkpoint import FileSystemReader

    return set(FileSystemReader(str(checkpoint.folder)).read_metadata().state_dict_metadata)


def clean(root: Path) -> int:
    """Remove what a killed save left behind; returns how many folders that were."""
    left = list(root.glob(f"{_TEMPORARY}*")) if root.is_dir() else []
    for folder in left:
        shutil.rmtree(folder)
    return len(left)


def _publish(temporary: Path, final: Path, step: int, about: dict[str, Any]) -> None:
    files = {
        str(p.relative_to(temporary)): {
            "size_bytes": p.stat().st_size,
            "sha256": storage.sha256(str(p)),
        }
        for p in sorted(temporary.rglob("*"))
        if p.is_file()
    }
    storage.write_json(str(temporary / MANIFEST), {**about, "step": step, "files": files})
    digest = storage.digest_of({name: f["sha256"] for name, f in files.items()})
    record = lineage.Lineage(
        "checkpoint", digest, about.get("inputs", {}), {"step": step, **about.get("recipe", {})}
    )
    lineage.write(str(temporary), record)
    if final.exists():  # from a run that was continued from an earlier step
        shutil.rmtree(final)
    os.replace(temporary, final)
    fsync_folder(final.parent)
    storage.write_bytes(str(final.parent / LATEST), final.name.encode() + b"\n")


def _drop_old(root: Path, newest: str, keep: int) -> None:
    """Remove all but the last `keep`; later steps than `newest` belong to an abandoned line."""
    names = sorted(p.name for p in root.glob("step_*") if p.is_dir())
    upto = [n for n in names if n <= newest]
    for name in [*upto[:-keep], *(n for n in names if n > newest)]:
        shutil.rmtree(root / name)


@contextmanager
def _alone_on_purpose() -> Iterator[None]:
    """torch warns about a single process even when told that there is one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.distributed is disabled")
        yield


@contextmanager
def _explained(final: Path) -> Iterator[None]:
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        yield
    except OSError as error:
        raise explain_os_error(error, f"saving checkpoint {final}") from error
    except CheckpointException as error:
        causes = [pair[0] for pair in error.failures.values()]
        for cause in causes:
            if isinstance(cause, OSError):
                raise explain_os_error(cause, f"saving checkpoint {final}") from error
        raise SeamountError(f"saving checkpoint {final} failed: {causes}") from error


def _agreed_name() -> str:
    """One random name that all ranks know."""
    import torch.distributed as dist

    names = [uuid.uuid4().hex[:12]]
    if _ranks() > 1:
        dist.broadcast_object_list(names, src=0)
    return names[0]


def _ranks() -> int:
    import torch.distributed as dist

    return dist.get_world_size() if dist.is_initialized() else 1


def _rank() -> int:
    import torch.distributed as dist

    return dist.get_rank() if dist.is_initialized() else 0


def _barrier() -> None:
    import torch.distributed as dist

    if _ranks() > 1:
        dist.barrier()
