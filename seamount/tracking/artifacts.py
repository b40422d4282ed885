"""Files of a run: content stored once under its SHA-256, shown under the run's own names."""

from __future__ import annotations

import hashlib
import mimetypes
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from seamount.core.durable import fsync_folder
from seamount.core.errors import UserError, explain_os_error
from seamount.tracking.names import check_artifact_path
from seamount.tracking.serialisers import File, encode
from seamount.tracking.store.folder import Store

_CHUNK = 1 << 20
UNTYPED = "application/octet-stream"
_PARTIAL = re.compile(r"\.[0-9a-f]{12}\.partial")


def put(store: Store, run_id: str, name: str, source: str | Path | bytes) -> dict[str, object]:
    """Store `source` (a path, or the bytes themselves) as the run's file `name`.

    Returns {"digest": hex SHA-256, "size_bytes": n}. An earlier file of that name stays in blobs/.
    """
    target = _inside(store.artifact_folder(run_id), name)
    check_source(name, source)
    try:
        for tries_left in (2, 1, 0):
            digest, size = _to_blob(store, source)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _show(blob_path(store, digest), target)
                break
            except FileNotFoundError:  # the last other run of this content was removed just now
                if not tries_left:
                    raise
    except OSError as error:
        raise explain_os_error(error, f"storing {name} of run {run_id}") from error
    return {"digest": digest, "size_bytes": size}


def check_source(name: str, source: str | Path | bytes) -> None:
    """Raise UserError where there is no file to be stored as `name`."""
    if isinstance(source, str | Path) and not Path(source).is_file():
        raise UserError(f"{str(source)!r}, to be stored as {name}, is not there or no file")


def expand(files: Mapping[str, Any]) -> dict[str, File]:
    """`files` with their types: folders become the files below them, values their encodings.

    A value that is made into a file gets its suffix, unless the name has one; a given File its own.
    """
    flat: dict[str, File] = {}
    for name, source in files.items():
        check_artifact_path(name)
        if not isinstance(source, str | os.PathLike):
            file = encode(source)
            suffix = source.suffix if isinstance(source, File) else file.suffix
            flat[name if PurePosixPath(name).suffix else name + suffix] = file
        elif Path(source).is_dir():
            root = Path(source)
            below = sorted(p for p in root.rglob("*") if p.is_file())
            flat |= {f"{name}/{p.relative_to(root).as_posix()}": encode(p) for p in below}
        else:
            flat[name] = encode(source)
    return flat


def show(store: Store, run_id: str, name: str, digest: str) -> None:
    """Show content that the store has under the run's file `name`, over an earlier version.

    Raises UserError for a name that may not be one, OSError where the content is not there.
    """
    target = _inside(store.artifact_folder(run_id), name)
    target.parent.mkdir(parents=True, exist_ok=True)
    _show(blob_path(store, digest), target)


def mime_type(name: str, file: File) -> str:
    """The file's own type; of bytes that have none, what the name's suffix says."""
    if file.mime_type != UNTYPED:
        return file.mime_type
    return mimetypes.guess_type(name)[0] or UNTYPED


def blob_path(store: Store, digest: str) -> Path:
    """Where the content with this SHA-256 lies."""
    return store.folder / "blobs" / digest[:2] / digest


def digest_of(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def partial_name(target: Path) -> Path:
    """A name beside `target` for a file that is being written."""
    return target.with_name(f".{os.urandom(6).hex()}.partial")


def is_partial(path: Path) -> bool:
    """Whether `path` is being written, or its writer was killed meanwhile."""
    return _PARTIAL.fullmatch(path.name) is not None


def _inside(folder: Path, name: str) -> Path:
    target = folder / check_artifact_path(name)
    if not target.parent.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"artifact path {name!r} leaves the run's folder")
    if target.is_dir():
        raise UserError(f"artifact path {name!r} is a folder of this run: choose another name")
    return target


def _to_blob(store: Store, source: str | Path | bytes) -> tuple[str, int]:
    """Store the content and its name, for good: the record that names it comes after."""
    folder = store.folder / "blobs"
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{os.getpid()}.{os.urandom(6).hex()}.partial"
    try:
        with temporary.open("xb") as out:
            digest, size = _copy(source, out)
            out.flush()
            os.fsync(out.fileno())
        final = blob_path(store, digest)
        if not final.exists():
            final.parent.mkdir(exist_ok=True)
            temporary.chmod(0o444)  # shared by runs: an accidental write must not change them all
            os.rename(temporary, final)
        fsync_folder(final.parent)
        fsync_folder(folder)
        return digest, size
    finally:
        temporary.unlink(missing_ok=True)


def _copy(source: str | Path | bytes, out: IO[bytes]) -> tuple[str, int]:
    digest = hashlib.sha256()
    if isinstance(source, bytes | bytearray | memoryview):
        content = bytes(source)
        digest.update(content)
        out.write(content)
        return digest.hexdigest(), len(content)
    size = 0
    with Path(source).open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


def _show(blob: Path, target: Path) -> None:
    """Put the blob under its name, replacing an earlier version in one step."""
    temporary = partial_name(target)
    try:
        try:
            os.link(blob, temporary)
        except OSError:
            shutil.copyfile(blob, temporary)  # file systems without hard links
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
