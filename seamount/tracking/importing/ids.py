"""Which id an imported run gets: its own where it may stand, else one made from it."""

from __future__ import annotations

import json
import re
from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.tracking.names import is_run_id
from seamount.tracking.store.folder import Store

NOTE = "import.json"


def candidates(kind: str, key: str, wanted: str) -> list[str]:
    """The ids a run may have, the preferred first: the original one, or a slug with a hash."""
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", wanted).strip("-_")[:100] or "run"
    mapped = f"{slug}-{storage.digest_of([kind, key])[:10]}"
    return [wanted, mapped] if is_run_id(wanted) else [mapped]


def choose(store: Store, kind: str, key: str, wanted: str) -> tuple[str, dict[str, Any] | None]:
    """(run id, what is noted about its last import or None where there was none).

    Raises UserError where every candidate belongs to another run.
    """
    possible = candidates(kind, key, wanted)
    for run_id in possible:
        found = note(store, run_id)
        if found is not None and (found.get("kind"), found.get("key")) == (kind, key):
            return run_id, found
    for run_id in possible:
        if not store.run_folder(run_id).exists():
            return run_id, None
    raise UserError(
        f"run {possible[-1]!r} is in the store already and was not imported from here: "
        "import into another store with --store"
    )


def note(store: Store, run_id: str) -> dict[str, Any] | None:
    """What was noted at the last import of this run, None for a run that was not imported."""
    path = store.run_folder(run_id) / NOTE
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise CorruptData(f"{path} is damaged: {error}") from error
    return found if isinstance(found, dict) else None
