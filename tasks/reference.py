"""What one task hands to the next: where an artefact is and what it holds, never the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from seamount.core import lineage, storage
from seamount.core.errors import UserError


class Artefact(BaseModel):
    """A folder or file some station wrote.

    `digest` is that of its lineage, `shape` that of the names and sizes of its files (it tells a
    later run, without reading the data, whether the artefact still stands), `facts` are figures
    for people and for the stations behind.
    """

    model_config = ConfigDict(frozen=True)

    kind: str
    path: str
    digest: str
    shape: str
    facts: dict[str, Any] = Field(default_factory=dict)

    def stands(self) -> bool:
        """Whether all its files are still there in their sizes, under the same lineage."""
        return storage.exists(self.path) and self.shape == shape_of(self.path)


def describe(kind: str, path: str, digest: str | None = None, /, **facts: Any) -> Artefact:
    """The reference to the artefact that now stands at `path`; its lineage gives the digest."""
    found = digest or lineage.read(path).digest
    return Artefact(kind=kind, path=path, digest=found, shape=shape_of(path), facts=facts)


def existing(kind: str, path: str) -> Artefact:
    """The reference to what somebody else made; without a lineage its files' sizes identify it."""
    known = storage.exists(storage.join(path, lineage.FILE_NAME))
    return describe(kind, path, None if known else shape_of(path))


def absolute(path: str) -> str:
    """A local path made absolute, so that it means the same in every process; a URL as it is."""
    return path if "://" in path else str(Path(path).expanduser().absolute())


def outside(out: str, corpus: str) -> str:
    """`out` made absolute; raises UserError where a later run would read it as its input."""
    if storage.exists(corpus) and storage.is_inside(out, corpus):
        raise UserError(f"the output {out!r} is the corpus {corpus!r} or lies in it: name another")
    return absolute(out)


def shape_of(path: str) -> str:
    """Digest of the names and sizes of all files at `path`."""
    files = storage.list_files(path)
    return storage.digest_of([[url[len(path) :], storage.size_bytes(url)] for url in files])
