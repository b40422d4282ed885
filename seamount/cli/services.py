"""`seamount services`: Prefect server, worker and tracking UI on this machine's loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from seamount.cli import prefect_server, supervise
from seamount.cli.json_output import JsonCommand, JsonOption, emit
from seamount.core import settings, storage
from seamount.core.errors import SeamountError, UserError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Prefect server, worker and tracking UI.\n\nExample: seamount services up",
)
POOL = "seamount-local"
PREFECT_PORT, TRACKING_PORT = 4200, 5000
_START_LIMIT_S = 240.0
_ORDER = ("prefect", "worker", "tracking")


@app.command(cls=JsonCommand)
def up(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Of Prefect's pages.")] = PREFECT_PORT,
    tracking_port: Annotated[
        int, typer.Option(min=1, max=65535, help="Of the tracking UI.")
    ] = TRACKING_PORT,
    json_file: JsonOption = None,
) -> None:
    """Start what does not run yet, deploy every flow, and print the links.

    A port that is taken is replaced by a free one. `seamount services down` stops all of it.

    Example: seamount services up --port 4200
    """
    project = _project()
    state = _running()
    if "prefect" not in state:
        port = supervise.free_port(port)
        _start("prefect", port, _prefect_command, state, **_pages(port))
    if "tracking" not in state:
        _start("tracking", supervise.free_port(tracking_port), _tracking_command, state)
    api_url = _api_url(state)
    _wait("prefect", lambda: prefect_server.answers(api_url), state)
    if "worker" not in state:
        make_pool(api_url)
        deploy(project, api_url)
        _start("worker", None, _worker_command, state, PREFECT_API_URL=api_url)
    _wait("tracking", lambda: _answers(state["tracking"]["url"] + "/health"), state)
    if not emit(_links(state), json_file):
        typer.echo("\n".join(f"{name:<10}{link}" for name, link in _links(state).items()))
        typer.echo("stop all   seamount services down")


@app.command()
def down() -> None:
    """Stop what `up` started, and nothing else.

    Example: seamount services down
    """
    state = _running()
    for name in reversed(_ORDER):
        if name in state:
            supervise.stop(_record(state.pop(name)))
            typer.echo(f"stopped {name}", err=True)
    storage.remove_tree(str(_state_file()))


@app.command(cls=JsonCommand)
def status(json_file: JsonOption = None) -> None:
    """Show which services run and where.

    Example: seamount services status
    """
    links = _links(_running())
    if not emit(links, json_file):
        typer.echo("\n".join(f"{n:<10}{link}" for n, link in links.items()) or "nothing runs")


def running_api_url() -> str | None:
    """API address of the Prefect server that `up` started, if it still answers."""
    state = _running()
    if "prefect" not in state:
        return None
    return _api_url(state) if prefect_server.answers(_api_url(state)) else None


def make_pool(api_url: str, name: str = POOL) -> None:
    """Create the process work pool, if it is not there; it gets its template from the worker."""
    _post(f"{api_url}/work_pools/", {"name": name, "type": "process"}, fine=(409,))


def deploy(project: Path, api_url: str) -> None:
    """Deploy all that `project`/prefect.yaml names; raises SeamountError with what Prefect said."""
    command = [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"]
    environment = settings.child_environment(
        **prefect_server.environment(), PREFECT_API_URL=api_url
    )
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise SeamountError(f"prefect deploy --all failed: {' '.join(last)}")


def _project() -> Path:
    for root in settings.declaration_roots():
        if (root / "prefect.yaml").is_file():
            return root
    raise UserError("no prefect.yaml here or in the installation: run this in the checkout")


def _prefect_command(port: int | None) -> list[str]:
    options = ("--host", "127.0.0.1", "--port", str(port), "--analytics-off")
    return [sys.executable, "-m", "prefect", "server", "start", *options]


def _pages(port: int) -> dict[str, str]:
    """Settings of the pages: they call the API by this address (else always port 4200)."""
    return {
        "PREFECT_SERVER_UI_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    }


def _tracking_command(port: int | None) -> list[str]:
    return [sys.executable, "-m", "seamount.cli.main", "track", "ui", "--port", str(port)]


def _worker_command(_port: int | None) -> list[str]:
    options = ("--pool", POOL, "--type", "process", "--name", "seamount")
    return [sys.executable, "-m", "prefect", "worker", "start", *options]


def _start(
    name: str,
    port: int | None,
    command: Callable[[int | None], list[str]],
    state: dict[str, Any],
    **variables: str,
) -> None:
    environment = settings.child_environment(**prefect_server.environment(), **variables)
    folder = _folder()
    process = supervise.spawn(command(port), folder / f"{name}.log", environment, folder)
    record = asdict(supervise.record(process.pid))
    state[name] = record | {"url": f"http://127.0.0.1:{port}" if port else None}
    storage.write_json(str(_state_file()), state)


def _wait(name: str, ready: Callable[[], bool], state: dict[str, Any]) -> None:
    give_up = time.monotonic() + _START_LIMIT_S
    while not ready():
        if not supervise.alive(_record(state[name])) or time.monotonic() > give_up:
            raise SeamountError(
                f"{name} did not start within {_START_LIMIT_S:.0f} s: see {_folder() / name}.log, "
                "then run seamount services down"
            )
        time.sleep(0.3)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status < 500)
    except (urllib.error.URLError, OSError):
        return False


def _post(url: str, body: dict[str, Any], fine: tuple[int, ...] = ()) -> None:
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        urllib.request.urlopen(request, timeout=60).close()
    except urllib.error.HTTPError as error:
        if error.code not in fine:
            raise SeamountError(f"Prefect refused {url}: {error}") from error


def _folder() -> Path:
    folder = settings.home() / "services"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _state_file() -> Path:
    return _folder() / "services.json"


def _running() -> dict[str, Any]:
    if not _state_file().exists():
        return {}
    state = storage.read_json(str(_state_file()))
    return {name: entry for name, entry in state.items() if supervise.alive(_record(entry))}


def _record(entry: dict[str, Any]) -> supervise.Record:
    return supervise.Record(entry["pid"], entry["started"])


def _api_url(state: dict[str, Any]) -> str:
    return f"{state['prefect']['url']}/api"


def _links(state: dict[str, Any]) -> dict[str, str]:
    return {n: state[n]["url"] or f"pid {state[n]['pid']}" for n in _ORDER if n in state}
