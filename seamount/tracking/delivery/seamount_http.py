"""Delivery to a server of ours: segments as their bytes, files by their SHA-256.

The server alone says how much it has, and takes only what follows it; so whatever is lost on the
way, in either direction, the same bytes are sent again and land once.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamount.core.errors import SeamountError
from seamount.tracking.delivery.connection import ANSWER_S, Connection, Refused
from seamount.tracking.delivery.local_run import LocalRun, LocalSegment
from seamount.tracking.delivery.state import State
from seamount.tracking.delivery.targets import Save, Target
from seamount.tracking.segments import codec
from seamount.tracking.segments.pieces import bodies, file_names, read_piece

CHUNK_BYTES = 1 << 22
HEARTBEAT_S = 20.0
_CHECKED_BYTES_A_SECOND = 5e7
_KNOWN_BLOBS = 10_000


@dataclass
class _Remote:
    """What the server has said of a run, in this process, since the last failure."""

    sizes: dict[str, int] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)  # at this size its writer was gone


class SeamountServer(Target):
    """A `seamount track ui` on another host."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._remotes: dict[str, _Remote] = {}
        self._blobs: dict[str, None] = {}

    def forget(self) -> None:
        """Ask for the sizes and files again: the server may be another one by now."""
        self._remotes.clear()
        self._blobs.clear()

    def send(self, run: LocalRun, state: State, save: Save) -> bool:
        """A piece of each segment, its files first."""
        remote = self._remotes.get(run.run_id) or self._meet(run)
        more = news = False
        for segment in run.segments():
            name = segment.path.name
            if remote.done.get(name) == segment.size:
                continue
            size = remote.sizes.get(name, 0)
            piece = read_piece(segment.path, size) if size < segment.size else b""
            if self._is_due(remote, segment, piece):
                sent = self._append(run, remote, segment, size, piece, state)
                news = news or bool(piece)
                more = more or not sent or (bool(piece) and remote.sizes[name] < segment.size)
            state.positions[name] = remote.sizes.get(name, 0)
        if news:
            save()
        return more

    def _is_due(self, remote: _Remote, segment: LocalSegment, piece: bytes) -> bool:
        """Whether there is news of a segment, or none for so long that the server would doubt."""
        if piece or not segment.lives:
            return True  # of a dead writer the server is told even where it has all of it
        heard = remote.heard.get(segment.path.name)
        return heard is None or time.monotonic() - heard > HEARTBEAT_S

    def _meet(self, run: LocalRun) -> _Remote:
        """Ask what the server has of the run, and make it there if it has nothing."""
        found = self._call("GET", _path(run)).json()
        if found.get("run") is None or found["run"].get("project") != run.identity.project:
            self._call("PUT", _path(run), run.identity.to_json())
        remote = self._remotes[run.run_id] = _Remote(dict(found.get("segments") or {}))
        return remote

    def _append(
        self,
        run: LocalRun,
        remote: _Remote,
        segment: LocalSegment,
        offset: int,
        piece: bytes,
        state: State,
    ) -> bool:
        """Send a piece; False where the server has another part of the file than we believed."""
        name = segment.path.name
        records = bodies(piece, offset)
        for digest in {d: None for body in records for d in file_names(body).values()}:
            self._send_blob(run.blob(digest), digest, state)
        ends = not segment.lives and not read_piece(segment.path, offset + len(piece))
        if not piece and offset == 0:
            return True  # a header that cannot be read: nothing to say of it
        query = {"offset": offset, "lives": 0 if ends else 1}
        try:
            answer = self._call("POST", f"{_path(run)}/segments/{name}", piece, query).json()
        except Refused as error:
            if error.status != 409 or error.detail.get("size") == offset:
                raise
            remote.sizes[name] = _size(error.detail, segment)
            return False
        remote.sizes[name] = _size(answer, segment)
        remote.heard[name] = time.monotonic()
        if ends:
            remote.done[name] = segment.size
        state.count("records", len(records))
        state.count("points", sum(codec.count_points(body) for body in records))
        state.count("bytes", len(piece))
        return True

    def _send_blob(self, path: Path, digest: str, state: State) -> None:
        if digest in self._blobs:
            return
        where = f"/api/seamount/v1/blobs/{digest}"
        found = self._call("GET", where).json()
        if not found["whole"]:
            if not path.is_file():
                state.refuse(f"file {digest[:12]}", "its content is gone from this store")
                return
            self._upload(path, where, int(found["size"]), digest, state)
        if len(self._blobs) >= _KNOWN_BLOBS:
            self._blobs.pop(next(iter(self._blobs)))
        self._blobs[digest] = None

    def _upload(self, path: Path, where: str, offset: int, digest: str, state: State) -> None:
        """Send a file in chunks from where the server has it; each is kept there at once."""
        total = path.stat().st_size
        patience_s = ANSWER_S + total / _CHECKED_BYTES_A_SECOND  # it reads all of it at the end
        with path.open("rb") as stream:
            while True:
                stream.seek(offset)
                chunk = stream.read(CHUNK_BYTES)
                query = {"offset": offset, "total": total}
                try:
                    answer = self._call("POST", where, chunk, query, answer_s=patience_s).json()
                except Refused as error:
                    if error.status == 422:  # changed on disk since it was logged, or on the way
                        state.refuse(f"file {digest[:12]}", str(error))
                        return
                    if error.status != 409 or error.detail.get("size") == offset:
                        raise
                    offset = int(error.detail["size"])  # another host sends the same content
                    continue
                state.count("bytes", len(chunk))
                if answer["whole"]:
                    state.count("files")
                    return
                offset = int(answer["size"])

    def _call(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        query: dict[str, Any] | None = None,
        answer_s: float = ANSWER_S,
    ) -> Any:
        headers = {}
        if content is not None:
            headers["X-Content-SHA256"] = hashlib.sha256(content).hexdigest()
            headers["Content-Type"] = "application/octet-stream"
        return self.connection.request(
            method, path, content, query=query, headers=headers, answer_s=answer_s
        )


def _path(run: LocalRun) -> str:
    return f"/api/seamount/v1/runs/{run.run_id}"


def _size(answer: dict[str, Any], segment: LocalSegment) -> int:
    """The size in an answer; more than we have means that somebody else writes that name there."""
    size = int(answer["size"])
    if size > segment.path.stat().st_size:
        raise SeamountError(
            f"the server has more of {segment.path.name} than this store: was this store brought "
            "back from an older copy? It is left as it is"
        )
    return size
