"""Where an artefact came from: `lineage.json` in every artefact folder, and the tree they form."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from seamount import __version__
from seamount.core import storage
from seamount.core.errors import CorruptData, UserError

FILE_NAME = "lineage.json"


@dataclass(frozen=True)
class Lineage:
    """What an artefact is, its digest, what it was made from, and how.

    `inputs` maps a role ("corpus", "tokenizer") to {"path", "digest"} of another artefact folder.
    """

    kind: str
    digest: str
    inputs: dict[str, dict[str, str]] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    run_id: str | None = None
    code_version: str = __version__


def write(folder: str, record: Lineage) -> None:
    """Write `record` as the lineage of the artefact in `folder`."""
    storage.write_json(storage.join(folder, FILE_NAME), asdict(record))


def read(folder: str) -> Lineage:
    """The lineage of the artefact in `folder`; raises UserError where there is none."""
    url = storage.join(folder, FILE_NAME)
    if not storage.exists(url):
        raise UserError(f"{folder} has no {FILE_NAME}: it is not an artefact made by Seamount")
    content = storage.read_json(url)
    try:
        return Lineage(**content)
    except TypeError as error:
        raise CorruptData(f"{url} is not a lineage file: {error}") from error


def reference(folder: str) -> dict[str, str]:
    """The {"path", "digest"} entry by which another artefact names the one in `folder`.

    A local path is made absolute, so that the tree resolves from wherever it is asked for.
    """
    local = storage.is_local(folder)
    path = str(storage.local_path(folder).resolve()) if local else folder
    return {"path": path, "digest": read(folder).digest}


def tree(path: str) -> dict[str, Any]:
    """The artefact at `path` (a folder or a file in it) and, below it, all it was made from.

    Each node has kind, path, digest, state ("ok", "changed" where the input on disk now has
    another digest than the one recorded, "missing") and inputs. Raises UserError
    where nothing stands at `path`.
    """
    if not storage.exists(path):
        raise UserError(f"nothing stands at {path!r}: check the path")
    folder = path if storage.is_folder(path) else str(PurePosixPath(path).parent)
    return _node(folder, None, ())


def _node(folder: str, wanted: str | None, above: tuple[str, ...]) -> dict[str, Any]:
    if folder in above:
        raise CorruptData(f"the lineage of {folder} leads back to itself")
    if wanted is not None and not storage.exists(storage.join(folder, FILE_NAME)):
        return {"kind": "?", "path": folder, "digest": wanted, "state": "missing", "inputs": {}}
    record = read(folder)
    state = "ok" if wanted in (None, record.digest) else "changed"
    inputs = {
        role: _node(ref["path"], ref["digest"], (*above, folder))
        for role, ref in sorted(record.inputs.items())
    }
    return {
        "kind": record.kind,
        "path": folder,
        "digest": record.digest,
        "state": state,
        "inputs": inputs,
    }
