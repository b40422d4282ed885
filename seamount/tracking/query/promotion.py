"""A run's checkpoint under an alias of MLflow's model registry: `models:/NAME@ALIAS`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seamount.core.errors import UserError
from seamount.tracking.query.best_run import checkpoint_at
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import open_run


def promote(
    run_id: str,
    alias: str,
    *,
    model: str | None = None,
    file: str | None = None,
    store: str | Path | None = None,
) -> dict[str, Any]:
    """Make a file or folder of a run a version of a registered model and point `alias` at it.

    `model` defaults to the run's project, `file` to the run's newest checkpoint. A version keeps
    its content (artifacts/models/ of the store), also where the run logs the file anew. The same
    file of the same run with the same content makes no second version. Returns {"model", "version",
    "alias", "file", "uri"}; MLflow's own clients load `uri`. Raises UserError.
    """
    run = open_run(run_id, store)
    source = _source(run, file)
    name = model or run.project
    client = _client(run.store.uri)
    version = _version(client, run, name, source)
    client.set_registered_model_alias(name, alias, version)
    return {
        "model": name, "version": version, "alias": alias, "file": source,
        "uri": f"models:/{name}@{alias}",
    }  # fmt: skip


def _source(run: RunView, file: str | None) -> str:
    if file is not None:
        run.files_of(file)  # raises where there is none, before a model is made
        return file
    found, reason = checkpoint_at(run.artifacts, None)
    if found is None:
        raise UserError(f"run {run.run_id}: {reason}; give --file")
    return found


def _client(uri: str) -> Any:
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise UserError("the registry needs MLflow: `pip install seamount[mlflow]`") from error
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def _version(client: Any, run: RunView, name: str, source: str) -> str:
    """The version that holds `source`, made if there is none."""
    from mlflow.exceptions import MlflowException

    try:
        client.get_registered_model(name)
    except MlflowException:
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            raise UserError(f"{name!r} cannot name a model ({error.message}): give --model") from (
                error
            )
    digest = _digest(run, source)
    for version in client.search_model_versions(f"run_id = '{run.run_id}'"):
        if version.name == name and version.tags.get("seamount.digest") == digest:
            return str(version.version)
    made = client.create_model_version(
        name, str(_snapshot(run, source, digest)), run.run_id,
        tags={"seamount.file": source, "seamount.digest": digest},
    )  # fmt: skip
    return str(made.version)


def _digest(run: RunView, source: str) -> str:
    """Names the file or folder and its content."""
    from seamount.core import storage

    below = {name: entry["digest"] for name, entry in run.files_of(source).items()}
    return storage.digest_of([source, below])


def _snapshot(run: RunView, source: str, digest: str) -> Path:
    """A folder that holds the content as it now is, whatever the run logs later under its name."""
    folder = run.store.folder / "artifacts" / "models" / digest[:32]
    for name in run.files_of(source):
        below = name.rpartition("/")[2] if name == source else name.removeprefix(f"{source}/")
        target = folder / below
        if not target.exists():
            run.copy_to(name, target)
    return folder
