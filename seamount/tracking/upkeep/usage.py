"""How much room a store takes, by project and run, and the quota beyond which files are refused."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from seamount.core import storage
from seamount.core.errors import CorruptData, UserError
from seamount.tracking.store.folder import Store

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip


def usage(store: Store) -> dict[str, Any]:
    """{"bytes", "quota_bytes", "projects": {name: bytes}, "runs": [row], "other_bytes"}.

    A run's row has its id, project, name, `bytes` and its parts: segments, columns, files. A file
    that several runs have is on disk once: it counts in each row, and once in the store's sum, so
    sums over runs may exceed it. Rows are sorted by size, largest first.
    """
    store.refresh()
    with store.index() as index:
        rows = [_row(store, run) for run in index.runs(deleted=True)]
    projects: defaultdict[str, int] = defaultdict(int)
    for row in rows:
        projects[row["project"]] += row["bytes"]
    return {
        "bytes": disk_bytes(store.folder),
        "quota_bytes": quota_bytes(store),
        "projects": dict(sorted(projects.items(), key=lambda item: -item[1])),
        "runs": sorted(rows, key=lambda row: -row["bytes"]),
    }


def _row(store: Store, run: dict[str, Any]) -> dict[str, Any]:
    parts = run_bytes(store, run["run_id"])
    told = {key: run[key] for key in ("run_id", "project", "name")}
    return told | {"deleted": bool(run["deleted"]), "bytes": sum(parts.values())} | parts


def run_bytes(store: Store, run_id: str) -> dict[str, int]:
    """{"segments", "columns", "files"} of a run in bytes."""
    theirs = [folder / run_id for folder in experiment_folders(store)]
    return {
        "segments": disk_bytes(store.run_folder(run_id)),
        "columns": disk_bytes(store.folder / "points" / run_id),
        "files": sum(disk_bytes(f) for f in [store.artifact_folder(run_id), *theirs]),
    }


def experiment_folders(store: Store) -> list[Path]:
    """Where MLflow's clients put files of runs, themselves or through the server: one a number."""
    artifacts = store.folder / "artifacts"
    places = [artifacts, artifacts / "proxied"]
    return [place / n for place in places for n in sorted(_names(place)) if n.isdecimal()]


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def disk_bytes(folder: Path) -> int:
    """Sum of the sizes of all files below a folder, each content once however many names it has."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                found = os.lstat(f"{root}/{name}")
            except FileNotFoundError:
                continue
            if (key := (found.st_dev, found.st_ino)) not in seen:
                seen.add(key)
                total += found.st_size
    return total


def quota_bytes(store: Store) -> int | None:
    """The store's limit, None if it has none."""
    path = store.folder / "settings.json"
    try:
        found = json.loads(path.read_bytes()).get("quota_bytes")
    except FileNotFoundError:
        return None
    except (ValueError, AttributeError) as error:
        raise CorruptData(f"{path} is damaged: {error}") from error
    return None if found is None else int(found)


def set_quota(store: Store, size: int | None) -> None:
    """Limit the store to `size` bytes, or lift the limit."""
    text = json.dumps({"quota_bytes": size}) + "\n"
    storage.write_bytes(str(store.folder / "settings.json"), text.encode())


def parse_size(text: str) -> int:
    """Bytes of a text like 500GB, 1.5TiB or 1000000; raises UserError for another."""
    digits = text.strip().rstrip("BbKkMmGgTtIi").strip()
    unit = text.strip()[len(digits) :].strip().upper() or "B"
    unit = unit if unit.endswith("B") else unit + "B"
    try:
        size = float(digits) * _UNITS[unit]
        if not 0 <= size < 2**63:
            raise ValueError
    except (ValueError, KeyError) as error:
        raise UserError(f"{text!r} is no size: write 500GB, 1.5TiB or none") from error
    return int(size)


def size_text(size: float) -> str:
    """Bytes as a person reads them, in decimal units."""
    for unit in ("B", "KB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
