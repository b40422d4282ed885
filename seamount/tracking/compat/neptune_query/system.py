"""The sys/ attributes of runs: what the store knows of a run beside what was logged."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from seamount.tracking.compat.neptune_scale.inner import CREATED, CUSTOM_ID, GROUP, PLAIN
from seamount.tracking.query.attributes import duration_s
from seamount.tracking.query.frames import moment
from seamount.tracking.store.index import Index

SYSTEM = "sys/"
TYPES = {
    "sys/creation_time": "datetime",
    "sys/custom_run_id": "string",
    "sys/description": "string",
    "sys/experiment/is_head": "bool",
    "sys/experiment/name": "string",
    "sys/failed": "bool",
    "sys/forking/depth": "int",
    "sys/forking/parent": "string",
    "sys/forking/step": "float",
    "sys/group_tags": "string_set",
    "sys/id": "string",
    "sys/modification_time": "datetime",
    "sys/name": "string",
    "sys/owner": "string",
    "sys/running_time_seconds": "float",
    "sys/state": "string",
    "sys/tags": "string_set",
}
_FORKED_FROM, _FORK_STEP = "seamount.fork_run_id", "seamount.fork_step"
_HIDDEN = ("seamount.", "mlflow.")
_MARK = "/packages_sha256"  # what only the watcher's description of the source has


class System:
    """sys/ attributes of the runs in `rows` (rows of the runs table by id)."""

    def __init__(self, index: Index, rows: Mapping[str, dict[str, Any]]) -> None:
        self._index, self._rows = index, rows

    def column(self, name: str, ids: Iterable[str]) -> dict[str, Any]:
        """Run id -> value, for those of `ids` that have one."""
        read = _READERS.get(name)
        found = {} if read is None else {i: read(self, i) for i in ids if i in self._rows}
        return {run_id: value for run_id, value in found.items() if value is not None}

    def custom_id(self, run_id: str) -> str:
        """The run's id as its script gave it."""
        return self.tags.get(run_id, {}).get(CUSTOM_ID, run_id)

    def experiment(self, run_id: str) -> str | None:
        """The experiment a run is part of: its name, unless that is only its id."""
        name = self._rows[run_id]["name"]
        return None if name in (run_id, self.custom_id(run_id)) else name

    @cached_property
    def heads(self) -> dict[tuple[str, str], str]:
        """(project, experiment) -> the newest run of that name."""
        found: dict[tuple[str, str], str] = {}
        for run_id in sorted(self._rows, key=lambda i: (self._rows[i]["created_us"], i)):
            if (name := self.experiment(run_id)) is not None:
                found[self._rows[run_id]["project"], name] = run_id
        return found

    @cached_property
    def tags(self) -> dict[str, dict[str, str]]:
        """Run id -> its tags as they now stand."""
        found: dict[str, dict[str, str]] = {}
        query = "SELECT run_id, key, value FROM tags WHERE value IS NOT NULL"
        for run_id, key, value in self._index.db.execute(query):
            found.setdefault(run_id, {})[key] = value
        return found

    def named_tags(self, ids: Collection[str]) -> dict[str, dict[str, str]]:
        """Run id -> tags with a value of their own by name: attributes, not members of sys/tags."""
        return {
            run_id: {
                name: value
                for name, value in self.tags.get(run_id, {}).items()
                if not name.startswith(_HIDDEN) and not self._plain(run_id, name, value)
            }
            for run_id in ids
        }

    def is_head(self, run_id: str) -> bool | None:
        """Whether the run stands for its experiment; None where it is in none."""
        name = self.experiment(run_id)
        if name is None:
            return None
        return self.heads[self._rows[run_id]["project"], name] == run_id

    def created(self, run_id: str) -> datetime.datetime:
        """When the run was made, or was said to be."""
        said = self.tags.get(run_id, {}).get(CREATED)
        if said is not None:
            return datetime.datetime.fromisoformat(said)
        return moment(self._rows[run_id]["created_us"])

    def modified(self, run_id: str) -> datetime.datetime:
        """The time of the newest metric, config, tag or file, or of the run's end."""
        row = self._rows[run_id]
        return moment(max(self._touched.get(run_id, 0), row["created_us"], row["ended_us"] or 0))

    @cached_property
    def _touched(self) -> dict[str, int]:
        columns = {"series": "last_us", "configs": "time_us", "tags": "time_us", "files": "time_us"}
        every = " UNION ALL ".join(
            f"SELECT run_id, max({column}) AS us FROM {table} GROUP BY run_id"
            for table, column in columns.items()
        )
        return dict(self._index.db.execute(f"SELECT run_id, max(us) FROM ({every}) GROUP BY 1"))

    def _plain(self, run_id: str, name: str, value: str) -> bool:
        """Whether a tag is one in Neptune's sense: a name that is there or not."""
        space = name.rsplit("/", 1)[0]
        if f"{space}{_MARK}" in self.tags.get(run_id, {}):
            return False
        return value == "true" or (value == PLAIN and name.startswith(GROUP))

    def tag_names(self, run_id: str, *, group: bool) -> set[str]:
        """The plain tags, or the group tags."""
        plain = {
            name: name.startswith(GROUP) and value != PLAIN
            for name, value in self.tags.get(run_id, {}).items()
            if self._plain(run_id, name, value) and not name.startswith(_HIDDEN)
        }
        prefix = GROUP if group else ""
        return {name.removeprefix(prefix) for name, of_group in plain.items() if of_group is group}

    def parent(self, run_id: str) -> str | None:
        """Our id of the run that this one was forked from."""
        own = self._rows.get(run_id, {}).get("fork_run_id")
        return own or self.tags.get(run_id, {}).get(_FORKED_FROM)

    def fork_step(self, run_id: str) -> float | None:
        """The last step that a fork takes over."""
        step = self._rows[run_id]["fork_step"]
        said = self.tags.get(run_id, {}).get(_FORK_STEP)
        return float(step) if step is not None else float(said) if said is not None else None

    def depth(self, run_id: str) -> int:
        """How many runs stand above this one."""
        seen = [run_id]
        while (above := self.parent(seen[-1])) is not None and above not in seen:
            seen.append(above)
        return len(seen) - 1

    def _state(self, run_id: str) -> str:
        return self._rows[run_id]["state"]

    def _parent_custom_id(self, run_id: str) -> str | None:
        parent = self.parent(run_id)
        return None if parent is None else self.custom_id(parent)


_READERS: dict[str, Callable[[System, str], Any]] = {
    "sys/creation_time": System.created,
    "sys/custom_run_id": System.custom_id,
    "sys/description": lambda s, i: s.tags.get(i, {}).get("mlflow.note.content"),
    "sys/experiment/is_head": System.is_head,
    "sys/experiment/name": System.experiment,
    "sys/failed": lambda s, i: s._state(i) in ("Failed", "Killed"),
    "sys/forking/depth": System.depth,
    "sys/forking/parent": System._parent_custom_id,
    "sys/forking/step": System.fork_step,
    "sys/group_tags": lambda s, i: s.tag_names(i, group=True),
    "sys/id": lambda s, i: i,
    "sys/modification_time": System.modified,
    "sys/name": System.experiment,
    "sys/owner": lambda s, i: s._rows[i]["owner"],
    "sys/running_time_seconds": lambda s, i: duration_s(s._rows[i]),
    "sys/state": System._state,
    "sys/tags": lambda s, i: s.tag_names(i, group=False),
}
