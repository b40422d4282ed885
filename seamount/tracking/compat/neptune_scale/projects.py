"""Projects of the store. They need not be made before runs are logged to them."""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from seamount.core import locks, storage
from seamount.core.errors import UserError
from seamount.tracking.compat.neptune_scale import checks, exceptions
from seamount.tracking.compat.neptune_scale.inner import store_of_scripts
from seamount.tracking.store.folder import Store

_QUALIFIED = re.compile(r"(?:([\w\-.]+)/)?([\w\-.]+)")


class ProjectVisibility(Enum):
    """Who saw a project at Neptune; noted, and of no effect here."""

    PRIVATE = "priv"
    PUBLIC = "pub"
    WORKSPACE = "workspace"


def create_project(
    name: str,
    *,
    workspace: str | None = None,
    visibility: str = ProjectVisibility.PRIVATE.value,
    description: str | None = None,
    key: str | None = None,
    fail_if_exists: bool = False,
    api_token: str | None = None,
) -> str:
    """Note a project in the store and return WORKSPACE/NAME.

    What it is noted with is kept in the store's projects.json; who may see it is up to the folder.
    Raises ValueError for a name or visibility that cannot be, NeptuneProjectAlreadyExists.
    """
    for what, value in (("workspace", workspace), ("description", description), ("key", key)):
        checks.of_type(what, value, str)
    checks.of_type("name", name, str, optional=False)
    visibility = ProjectVisibility(visibility).value
    full = normalize_project_name(name, workspace)
    store = store_of_scripts()
    with locks.held(store.folder / "projects.lock"):
        noted = _noted(store)
        if fail_if_exists and full in {*noted, *known(store)}:
            raise exceptions.NeptuneProjectAlreadyExists()
        about = {"visibility": visibility, "description": description, "key": key}
        storage.write_json(str(store.folder / "projects.json"), {full: about} | noted)
    return full


def list_projects(*, api_token: str | None = None) -> list[str]:
    """Every project of the store that runs were logged to or that was made, sorted."""
    return known(store_of_scripts())


def known(store: Store) -> list[str]:
    """Projects with runs, and those that were made without one."""
    store.refresh()
    with store.index() as index:
        return sorted({row["project"] for row in index.runs()} | set(_noted(store)))


def extract_workspace_and_project(name: str, workspace: str | None = None) -> tuple[str, str]:
    """(workspace, project) of WORKSPACE/PROJECT, or of a name and a workspace; ValueError."""
    found = _QUALIFIED.fullmatch(name)
    if found is None:
        raise ValueError(f"Invalid project name `{name}`")
    given, project = found[1], found[2]
    if given and workspace and given != workspace:
        raise ValueError(f"workspace {workspace!r} is not that of project {name!r}")
    if not (given or workspace):
        raise ValueError(f"project {name!r} needs a workspace: write WORKSPACE/PROJECT")
    return str(given or workspace), project


def normalize_project_name(name: str, workspace: str | None = None) -> str:
    """WORKSPACE/PROJECT of a name and a workspace; ValueError where they do not fit."""
    return "/".join(extract_workspace_and_project(name=name, workspace=workspace))


def _noted(store: Store) -> dict[str, Any]:
    path = str(store.folder / "projects.json")
    found = storage.read_json(path) if storage.exists(path) else {}
    if not isinstance(found, dict):
        raise UserError(f"{path} does not hold projects: remove it")
    return found
