"""The entry points by which MLflow finds our store for `seamount://` addresses.

Light on purpose: MLflow loads this module while it is itself being imported, so an import of mlflow
here would be circular (MLflow then drops the plugin with only a warning).
"""

from __future__ import annotations

from typing import Any


def tracking_store(store_uri: str, artifact_uri: str | None = None, **_: Any) -> Any:
    """MLflow's tracking store (runs, metrics, params, tags, artifacts) over our folder."""
    from seamount.tracking.mlflow_plugin.store import SeamountTrackingStore

    return SeamountTrackingStore(store_uri, artifact_uri)


def registry_store(store_uri: str, **_: Any) -> Any:
    """MLflow's model registry in the mlflow.db of our folder."""
    from seamount.tracking.mlflow_plugin.store import registry

    return registry(store_uri)
