"""How long the sequences were that a model was trained on, as its run's checkpoint tells."""

from __future__ import annotations

from typing import Any

from seamount.core import lineage, storage
from seamount.core.errors import SeamountError

_ROLES = ("checkpoint", "model")  # what an artefact made from a training names as its input
_MOST_STEPS = 8


def trained_context(folder: str) -> int | None:
    """Tokens of a training sequence of the model, export or checkpoint in `folder`.

    Follows lineage.json to the checkpoint, whose manifest holds the recipe. None where the model is
    of others, or the checkpoint is gone: that is no error, only less to warn of.
    """
    for _ in range(_MOST_STEPS):
        manifest = _content(storage.join(folder, "manifest.json"))
        if (found := _at(manifest, "recipe", "data", "sequence_length")) is not None:
            return found if isinstance(found, int) and found > 0 else None
        inputs = _at(_content(storage.join(folder, lineage.FILE_NAME)), "inputs")
        above = next((p for role in _ROLES if (p := _at(inputs, role, "path"))), None)
        if not isinstance(above, str):
            return None
        folder = _where(above, folder)
    return None


def _where(path: str, folder: str) -> str:
    """`path` as recorded, else the place it has in a run folder that was moved as a whole."""
    parts = path.rstrip("/").rsplit("/", 2)[-2:]
    moved = [storage.join(folder, "..", *parts), storage.join(folder, "..", parts[-1])]
    return next((p for p in (path, *moved) if _exists(p)), path)


def _exists(path: str) -> bool:
    return storage.is_local(path) and storage.exists(path)


def _content(url: str) -> Any:
    try:
        return storage.read_json(url) if _exists(url) else None
    except SeamountError:
        return None


def _at(content: Any, *keys: str) -> Any:
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content
