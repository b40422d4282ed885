"""What arrives from other hosts: runs, segments and files, appended at the place that is asked for.

A segment travels as its bytes. They are taken only at the end of what is here, only as whole frames
and only with the digest that the sender names, so that sending twice, out of order or in part does
nothing. Files are content under its SHA-256, and verified before they get their name.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, DiskFull, SeamountError, UserError
from seamount.tracking import artifacts
from seamount.tracking.names import check_name, check_run_id, check_text
from seamount.tracking.segments import codec
from seamount.tracking.segments.pieces import MAX_PIECE_BYTES, bodies, file_names, whole_frames
from seamount.tracking.segments.strands import is_segment_name, segment_files
from seamount.tracking.server.held import HeldFile, HeldFiles
from seamount.tracking.store import forks
from seamount.tracking.store.folder import MAX_PROJECT_BYTES, RunIdentity, Store

MAX_BODY_BYTES = MAX_PIECE_BYTES
MAX_IDENTITY_BYTES = (1 << 24) + (1 << 16)  # a fork's inherited configuration is in it
SPARE_BYTES = 1 << 26
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Elsewhere(SeamountError):
    """The bytes do not begin where what is here ends; `size_bytes` says where that is."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(f"what is here ends at byte {size_bytes}: send what follows it")
        self.size_bytes = size_bytes


class Receiver:
    """Takes deliveries into a store; safe for threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.held = HeldFiles()
        self._blobs = threading.Lock()

    def describe(self, run_id: str) -> dict[str, Any]:
        """{"run": identity or None, "segments": {file name: size in bytes}} of a run."""
        identity = self._store.identity(check_run_id(run_id))
        if identity is None:
            return {"run": None, "segments": {}}
        files = segment_files(self._store.run_folder(run_id))
        return {"run": asdict(identity), "segments": {p.name: p.stat().st_size for p in files}}

    def create(self, run_id: str, content: bytes) -> dict[str, Any]:
        """Make the run of this run.json; the first of several hosts gives its name and time."""
        wanted = _identity(check_run_id(run_id), content)
        found, made = self._store.adopt(wanted)
        return {"run": asdict(found), "made": made}

    def append(
        self, run_id: str, name: str, offset: int, content: bytes, *, lives: bool
    ) -> dict[str, Any]:
        """Append whole frames at `offset`; empty content says that the writer lives (or not).

        Returns {"size": bytes here now}. Raises Elsewhere for another offset, CorruptData for what
        are no whole frames, Busy where a process here writes the file.
        """
        folder = self._store.run_folder(run_id)
        if not is_segment_name(name) or not (folder / "run.json").is_file():
            raise UserError(f"no run {run_id!r} here, or {name[:200]!r} is no segment's name")
        path = folder / name
        held = self.held.get(path)
        if held is None:
            size = self._first(path, run_id, offset, content)
        else:
            with held.lock:
                size = self._more(held, path, run_id, offset, content)
        if not lives:
            self.held.let_go(path)
        return {"size": size}

    def _first(self, path: Path, run_id: str, offset: int, content: bytes) -> int:
        if offset or not content:
            raise Elsewhere(0)
        found = codec.read_header(content, path.name)
        if found is None or found[0].run_id != run_id or found[0].file_name != path.name:
            raise CorruptData(f"what was sent as {path.name} has the header of another file")
        self._check(content, 0, path.name)
        self._show_files(run_id, content, 0)
        return self.held.create(path, content).size

    def _more(self, held: HeldFile, path: Path, run_id: str, offset: int, content: bytes) -> int:
        if offset != held.size:
            raise Elsewhere(held.size)
        if content:
            self._check(content, offset, path.name)
            self._show_files(run_id, content, offset)
            held.append(content)
        return held.size

    def _check(self, content: bytes, offset: int, name: str) -> None:
        if whole_frames(content, offset, name) != len(content):
            raise CorruptData(f"what was sent of {name} at byte {offset} is not in whole frames")
        _leave_room(self._store.folder, len(content))

    def _show_files(self, run_id: str, content: bytes, offset: int) -> None:
        """Show the files that the records name; doing it before the records are here is harmless.

        A name that may not be one and content that never came stay as the records say them;
        `seamount track verify` names them.
        """
        for body in bodies(content, offset):
            for name, digest in file_names(body).items():
                try:
                    if _DIGEST.fullmatch(digest):
                        artifacts.show(self._store, run_id, name, digest)
                except (UserError, OSError):
                    continue

    def blob(self, digest: str) -> dict[str, Any]:
        """{"size": bytes here, "whole": whether that is all} of the content with this SHA-256."""
        final = artifacts.blob_path(self._store, _digest(digest))
        if final.is_file():
            return {"size": final.stat().st_size, "whole": True}
        partial = self._partial(digest)
        return {"size": partial.stat().st_size if partial.exists() else 0, "whole": False}

    def append_blob(self, digest: str, offset: int, total: int, content: bytes) -> dict[str, Any]:
        """Append to content of `total` bytes; when all is here it is checked and gets its name.

        Raises Elsewhere for another offset, CorruptData (and begins anew) for another digest.
        """
        with self._blobs:
            here = self.blob(digest)
            if here["whole"]:
                return here
            if offset != here["size"]:
                raise Elsewhere(here["size"])
            if offset + len(content) > total:
                raise UserError(f"{offset + len(content)} bytes sent of {total} of {digest[:12]}")
            _leave_room(self._store.folder, len(content))
            partial = self._partial(digest)
            partial.parent.mkdir(exist_ok=True)
            _append(partial, offset, content)
            if offset + len(content) == total:
                self._finish(partial, digest)
        return self.blob(digest)

    def _finish(self, partial: Path, digest: str) -> None:
        if artifacts.digest_of(partial) != digest:
            partial.unlink()
            raise CorruptData(f"the content sent as {digest[:12]} has another SHA-256: send again")
        final = artifacts.blob_path(self._store, digest)
        final.parent.mkdir(exist_ok=True)
        partial.chmod(0o444)
        os.rename(partial, final)

    def _partial(self, digest: str) -> Path:
        return self._store.folder / "blobs" / f".{digest}.incoming"


def _append(path: Path, offset: int, content: bytes) -> None:
    with path.open("ab") as stream:
        try:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            os.truncate(path, offset)
            raise


def _digest(text: str) -> str:
    if not _DIGEST.fullmatch(text):
        raise UserError(f"{text[:80]!r} is not a SHA-256 in small hexadecimal letters")
    return text


def _identity(run_id: str, content: bytes) -> RunIdentity:
    """The identity in a run.json from outside, every part of it checked."""
    try:
        found = RunIdentity(**json.loads(content))
        forks.check_stored(found)
    except (ValueError, TypeError, UserError) as error:
        raise UserError(f"what was sent is no run.json: {str(error)[:200]}") from error
    check_text(found.project, "project", MAX_PROJECT_BYTES)
    check_name(found.name, "run name")
    check_text(found.owner, "owner", 256)
    if not isinstance(found.inherited_configs, dict | None):
        raise UserError(f"the configuration that {run_id!r} inherits is no JSON object")
    if found.run_id != run_id or not isinstance(found.created_us, int):
        raise UserError(f"the run.json sent for {run_id!r} is of another run, or has no time")
    return found


def _leave_room(folder: Path, size_bytes: int) -> None:
    if shutil.disk_usage(folder).free < size_bytes + SPARE_BYTES:
        raise DiskFull(f"no room for {size_bytes} bytes more on the server's disk")


def digest_matches(content: bytes, digest: str | None) -> bool:
    """Whether `content` arrived as it was sent: `digest` is its hex SHA-256."""
    return digest is not None and hashlib.sha256(content).hexdigest() == digest.lower()
