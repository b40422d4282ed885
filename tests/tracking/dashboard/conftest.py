"""A store with a few runs, and a client of the dashboard on it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from seamount.tracking import Run
from seamount.tracking.dashboard.access import Access
from seamount.tracking.dashboard.app import routes
from seamount.tracking.store.folder import Store

HERE = "http://127.0.0.1:5000"


@pytest.fixture
def client_of() -> Callable[..., TestClient]:
    """A client of a dashboard on a store, with or without a token."""

    def make(store: Store, token: str | None = None, address: str = HERE) -> TestClient:
        app = Starlette(routes=routes(store, Access(store, token)))
        return TestClient(app, base_url=address, follow_redirects=False)

    return make


@pytest.fixture
def filled(store: Store) -> Store:
    """Six runs in two projects: lr, optimizer and seed vary, one loss is NaN, one run failed."""
    for n in range(6):
        project = "apples" if n < 4 else "pears"
        with Run(project=project, name=f"run-{n}", run_id=f"r{n}", store=store.uri) as run:
            optimizer = "adam" if n % 2 else "sgd"
            run.log_configs({"lr": 0.1 * 2**-n, "opt": {"name": optimizer}, "seed": n % 3})
            for step in range(10):
                run.log_metrics({"loss": 2.0 + n - step * 0.1, "val/acc": n / 10}, step=step)
            if n == 3:
                run.log_metrics({"loss": float("nan")}, step=10)
    return store


@pytest.fixture
def ask(filled: Store, client_of: Callable[..., TestClient]) -> Callable[..., Any]:
    """`ask(noun, spec, **more)`: the JSON that the API answers; fails on an error."""
    client = client_of(filled)

    def get(noun: str, spec: dict[str, Any] | None = None, **more: Any) -> Any:
        parameters = {
            name: v if isinstance(v, str | int) else json.dumps(v) for name, v in more.items()
        }
        if spec is not None:
            parameters["spec"] = json.dumps(spec)
        answer = client.get(f"/api/v1/{noun}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return get
