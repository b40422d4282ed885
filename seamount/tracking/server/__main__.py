"""`python -m seamount.tracking.server`: what `seamount track ui` turns into."""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from typing import Any

from seamount.core import settings
from seamount.tracking.server.app import application
from seamount.tracking.server.later import Later
from seamount.tracking.store.folder import Store, open_store


def main() -> None:
    """Serve the store until interrupted."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--no-mlflow", action="store_true")
    options = parser.parse_args()
    import uvicorn

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # a file a living writer
    store, token = open_store(options.store), settings.tracking_token()
    mlflow = None if options.no_mlflow else Later(lambda: _mlflow(store, token))
    uvicorn.run(
        application(store, token, mlflow),
        host=options.host,
        port=options.port,
        log_level="info",
        timeout_graceful_shutdown=10,
    )


def _mlflow(store: Store, token: str | None) -> Any:
    """MLflow's application on the store, as `mlflow server` sets it up (3.17)."""
    settings.export_environment(
        _MLFLOW_SERVER_FILE_STORE=store.uri,
        _MLFLOW_SERVER_REGISTRY_STORE=store.uri,
        _MLFLOW_SERVER_ARTIFACT_ROOT="mlflow-artifacts:/",
        _MLFLOW_SERVER_SERVE_ARTIFACTS="true",
        _MLFLOW_SERVER_ARTIFACT_DESTINATION=str(store.folder / "artifacts" / "proxied"),
        _MLFLOW_SGI_NAME="uvicorn",
    )
    if token is not None:  # who knows the token may call this machine by any of its names
        settings.export_environment(MLFLOW_SERVER_ALLOWED_HOSTS="*")
    from mlflow.server import constants, handlers

    _check_names(constants)
    handlers.initialize_backend_stores(store.uri, store.uri, "mlflow-artifacts:/")
    from mlflow.server.fastapi_app import app

    return app


def _check_names(constants: Any) -> None:
    """The variables above are MLflow's own and not promised to stay."""
    expected = {
        "BACKEND_STORE_URI_ENV_VAR": "_MLFLOW_SERVER_FILE_STORE",
        "SERVE_ARTIFACTS_ENV_VAR": "_MLFLOW_SERVER_SERVE_ARTIFACTS",
    }
    for name, value in expected.items():
        if getattr(constants, name) != value:
            raise RuntimeError(f"mlflow.server.constants.{name} has changed: see {Path(__file__)}")


if __name__ == "__main__":
    main()
