"""A file of a run as the server may hand it out: which content, of which type, and how it opens.

What a run holds is not to be trusted: only types that carry no script open in the browser, and even
these in a sandbox without any right (`Content-Security-Policy: sandbox`, no foreign request).
"""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seamount.core.errors import CorruptData, UserError
from seamount.core.registry import unknown
from seamount.tracking.artifacts import UNTYPED, blob_path, is_partial
from seamount.tracking.names import check_artifact_path
from seamount.tracking.query.run_view import RunView
from seamount.tracking.store.index import Index

PASSIVE = frozenset({
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif",
    "image/svg+xml",  # as a picture only; opened by itself it is in the sandbox
    "audio/wav", "audio/x-wav", "audio/mpeg", "audio/ogg", "audio/flac", "audio/mp4",
    "video/mp4", "video/webm", "video/ogg", "text/plain",
})  # fmt: skip
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "media-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}
_VERSIONS = (
    "SELECT digest, mime, time_us, segment_id FROM files WHERE run_id = ?1 AND name = ?2"
    " UNION ALL SELECT digest, mime, time_us, segment_id FROM file_series"
    " WHERE run_id = ?1 AND path = ?2 ORDER BY time_us, segment_id"
)
_TEXT = ("text/", "application/json", "application/xml", "application/x-yaml", "application/yaml")
_TEXT_SUFFIXES = (".patch", ".diff", ".log", ".yaml", ".yml", ".toml", ".jsonl", ".ini", ".md")


@dataclass(frozen=True)
class RunFile:
    """Content of a run's file: where it lies, and its type."""

    name: str
    path: Path
    mime: str

    @property
    def inline(self) -> bool:
        """Whether a browser may show it; others are saved."""
        return self.mime in PASSIVE


def find_file(view: RunView, index: Index, name: str, version: int = -1) -> RunFile:
    """The file `name` of a run; `version` counts from 0, or from the newest as -1.

    Raises UserError for a name or version that the run has not, CorruptData where its content is
    gone.
    """
    check_artifact_path(name)
    rows = index.db.execute(_VERSIONS, (view.run_id, name)).fetchall()
    if rows:
        if not -len(rows) <= version < len(rows):
            raise UserError(f"file {name} has {len(rows)} versions, there is none {version}")
        digest, mime, *_ = rows[version]
        path = blob_path(view.store, digest)
        if not path.is_file():
            raise CorruptData(f"the content of file {name} of run {view.run_id} is gone")
        return RunFile(name, path, _plain_type(name, mime))
    for root in view.roots():
        path = root / name
        inside = path.resolve().is_relative_to(root.resolve())
        if inside and path.is_file() and not path.is_symlink() and not is_partial(path):
            return RunFile(name, path, _plain_type(name, UNTYPED))
    raise unknown("file", name, list(view.artifacts))


def kind_of(name: str, mime: str = UNTYPED) -> str:
    """How the page shows a file: image, audio, video, text, or file (a link alone)."""
    mime = _plain_type(name, mime)
    family = mime.partition("/")[0]
    if family in ("image", "audio", "video"):
        return family if mime in PASSIVE else "file"
    return "text" if mime.startswith(_TEXT) or name.endswith(_TEXT_SUFFIXES) else "file"


def listed_files(view: RunView, index: Index, limit: int) -> tuple[list[dict[str, Any]], int]:
    """(the first `limit` files by name: name, size, versions, digest, kind; how many there are)."""
    mimes = dict(
        index.db.execute(
            "SELECT name, mime FROM files WHERE run_id = ?1 UNION"
            " SELECT path, mime FROM file_series WHERE run_id = ?1",
            (view.run_id,),
        )
    )
    every = view.artifacts
    shown = sorted(every)[:limit]
    found = [
        {"name": name, "kind": kind_of(name, mimes.get(name, UNTYPED)), **every[name]}
        for name in shown
    ]
    return found, len(every)


def _plain_type(name: str, mime: str) -> str:
    """The type without parameters; of what has none, what the suffix says."""
    plain = mime.partition(";")[0].strip().lower()
    if plain in ("", UNTYPED):
        plain = mimetypes.guess_type(name)[0] or UNTYPED
    return plain if plain.isascii() and plain.isprintable() else UNTYPED
