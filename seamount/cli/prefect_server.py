"""The Prefect server that runs embedded in one command, or as a service, always on the loopback.

Starting it costs some 8 CPU-seconds, nearly all of it imports, so `start` returns at once and
the caller imports its own flow while the server comes up.
"""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from seamount.cli import supervise
from seamount.core import settings
from seamount.core.errors import SeamountError

START_LIMIT_S = 240.0


@dataclass(frozen=True)
class Server:
    """A starting or running server: its process, address of the API, and log file."""

    process: subprocess.Popen[bytes]
    api_url: str
    log_file: Path


def prefect_home() -> Path:
    """Folder of Prefect's database, results and profiles."""
    return settings.home() / "prefect"


def environment() -> dict[str, str]:
    """Prefect settings for every process started here: quiet, offline, patient, own folder."""
    return {
        "PREFECT_HOME": str(prefect_home()),
        "PREFECT_PROFILES_PATH": str(prefect_home() / "profiles.toml"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "240",
        "PREFECT_SERVER_DATABASE_TIMEOUT": "60",
        "PREFECT_SERVER_LOGGING_LEVEL": "ERROR",
        "PREFECT_LOGGING_EXTRA_LOGGERS": "seamount",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "PREFECT_CLIENT_MAX_RETRIES": "10",
        "PREFECT_API_REQUEST_TIMEOUT": "120",
        # `python -m` would put the working folder first, whose packages may have our names.
        "PYTHONSAFEPATH": "1",
    }


def start(port: int | None = None) -> Server:
    """Start a server without its pages, which ends with this process; see `wait_until_up`."""
    port = port or supervise.free_port()
    log_file = prefect_home() / "embedded.log"
    variables = {
        **environment(),
        "PREFECT_UI_ENABLED": "0",
        "PREFECT__SERVER_EPHEMERAL": "1",
        "PREFECT__SERVER_FINAL": "1",
    }
    if _migrated().exists():
        variables["PREFECT_API_DATABASE_MIGRATE_ON_START"] = "false"
        variables["PREFECT_API_BLOCKS_REGISTER_ON_START"] = "false"
    command = [
        *(sys.executable, "-m", "uvicorn", "--factory", "prefect.server.api.server:create_app"),
        *("--host", "127.0.0.1", "--port", str(port), "--log-level", "error", "--lifespan", "on"),
    ]
    child = settings.child_environment(**variables)
    process = supervise.spawn(command, log_file, child, folder=_own_folder(), dies_with_parent=True)
    return Server(process, f"http://127.0.0.1:{port}/api", log_file)


def _own_folder() -> Path:
    # `python -m` puts the working directory first on the path: it must hold no packages.
    prefect_home().mkdir(parents=True, exist_ok=True)
    return prefect_home()


def _migrated() -> Path:
    # The database's tables change only with Prefect's version; checking them takes a second.
    return prefect_home() / f"migrated-{version('prefect')}"


def wait_until_up(server: Server, limit_s: float = START_LIMIT_S) -> None:
    """Return when the server answers; raises SeamountError with its last words if it does not."""
    give_up = time.monotonic() + limit_s
    while not answers(server.api_url):
        if server.process.poll() is not None or time.monotonic() > give_up:
            raise SeamountError(
                f"the embedded Prefect server did not start within {limit_s:.0f} s: "
                f"{_last_words(server.log_file)} (whole log in {server.log_file})"
            )
        time.sleep(0.1)
    if (prefect_home() / "prefect.db").exists():
        _migrated().touch()


def answers(api_url: str) -> bool:
    """Whether a Prefect server is healthy at `api_url`."""
    try:
        with urllib.request.urlopen(f"{api_url}/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _last_words(log_file: Path) -> str:
    lines = log_file.read_text(errors="replace").strip().splitlines() if log_file.exists() else []
    return lines[-1] if lines else "it wrote nothing"


def stop(server: Server) -> None:
    """Stop an embedded server, by force if it does not go in 5 seconds."""
    server.process.terminate()
    try:
        server.process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        supervise.stop(supervise.record(server.process.pid), patience_s=0)
        server.process.wait()


@contextmanager
def embedded() -> Iterator[Server]:
    """A starting server that is stopped at the end of the block."""
    server = start()
    try:
        yield server
    finally:
        stop(server)
