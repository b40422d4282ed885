"""A real Prefect server, worker and tracking UI, started by the project's own command.

The fixtures are taken into the conftest.py of tests/flows and tests/browser, which share one start.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SEAMOUNT = str(Path(sys.executable).parent / "seamount")
MARK = "SEAMOUNT_TEST_MARK"
FINAL = ("COMPLETED", "FAILED", "CRASHED", "CANCELLED")


@dataclass
class Services:
    """Client of the started services; every call is repeated while the server is busy (503)."""

    home: Path
    pages: str
    environment: dict[str, str] = field(repr=False)

    def call(self, path: str, body: Any = None, method: str | None = None) -> Any:
        """JSON answer of the API; raises HTTPError for what is not the server's own trouble."""
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(8):
            request = urllib.request.Request(
                f"{self.pages}/api{path}",
                data,
                {"Content-Type": "application/json"},
                method=method or ("GET" if body is None else "POST"),
            )
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    text = answer.read()
                    return json.loads(text) if text else None
            except urllib.error.HTTPError as error:
                if error.code not in (429, 500, 502, 503) or attempt == 7:
                    raise
                time.sleep(1 + attempt)
        raise AssertionError("unreachable")

    def deployment(self, flow: str, name: str) -> dict[str, Any]:
        """A deployment by flow and name."""
        return self.call(f"/deployments/name/{flow}/{name}")

    def trigger(self, flow: str, name: str, parameters: dict[str, Any], **more: Any) -> str:
        """Id of a new run of a deployment."""
        identity = self.deployment(flow, name)["id"]
        once = {"idempotency_key": uuid.uuid4().hex}  # a repeated call makes no second run
        body = {"parameters": parameters, **once, **more}
        return self.call(f"/deployments/{identity}/create_flow_run", body)["id"]

    def state(self, run: str) -> str:
        """Type of a run's state."""
        return self.call(f"/flow_runs/{run}")["state_type"]

    def wait(self, run: str, wanted: str = "COMPLETED", limit_s: float = 240) -> None:
        """Return when the run is in state `wanted`; fail with its log where it ends elsewhere."""
        give_up = time.monotonic() + limit_s
        state = self.state(run)
        while state != wanted:
            if state in FINAL or time.monotonic() > give_up:
                pytest.fail(f"run is {state}, not {wanted}:\n{self.log(run)}")
            time.sleep(1)
            state = self.state(run)

    def says(self, run: str, text: str, limit_s: float = 60) -> bool:
        """Whether `text` comes into the run's log; lines reach the server seconds later."""
        give_up = time.monotonic() + limit_s
        while text not in self.log(run):
            if time.monotonic() > give_up:
                return False
            time.sleep(0.5)
        return True

    def log(self, run: str) -> str:
        """The messages of a run, and its last state's."""
        rows = self.call("/logs/filter", {"logs": {"flow_run_id": {"any_": [run]}}, "limit": 200})
        last = (self.call(f"/flow_runs/{run}")["state"] or {}).get("message")
        return "\n".join([*(row["message"] for row in rows), str(last)])

    def artifacts(self, run: str) -> dict[str, Any]:
        """Artifacts of a run by key."""
        body = {"artifacts": {"flow_run_id": {"any_": [run]}}, "limit": 200}
        return {row["key"]: row for row in self.call("/artifacts/filter", body) if row["key"]}


STARTED = pytest.StashKey[Services]()


@pytest.fixture(scope="session")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with packages of our names that cannot be imported."""
    folder = tmp_path_factory.mktemp("hostile")
    for name in ("flows", "tasks", "models"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise ImportError('the wrong package')\n")
    return folder


@pytest.fixture(scope="session")
def services(
    request: pytest.FixtureRequest, hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    """`seamount services up` in a folder with other packages of our names; `down` at the end."""
    if (started := request.config.stash.get(STARTED, None)) is not None:
        yield started
        return
    home = tmp_path_factory.mktemp("services-home")
    (home / "services").mkdir()
    for package in hostile_folder.iterdir():  # the worker's own folder is hostile too
        shutil.copytree(package, home / "services" / package.name)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT")}
    environment |= {"SEAMOUNT_HOME": str(home), MARK: str(home)}
    up = [SEAMOUNT, "services", "up", "--port", "4911", "--tracking-port", "5911", "--json"]
    try:
        done = subprocess.run(
            up, cwd=hostile_folder, env=environment, capture_output=True, text=True, timeout=280
        )
        assert done.returncode == 0, done.stderr + done.stdout
        started = Services(home, json.loads(done.stdout)["prefect"], environment)
        request.config.stash[STARTED] = started
        yield started
    finally:
        down = [SEAMOUNT, "services", "down"]
        subprocess.run(down, cwd=hostile_folder, env=environment, check=True, timeout=120)
        assert marked(str(home)) == [], "processes of the services outlived `down`"


def marked(mark: str, variable: str = MARK) -> list[int]:
    """Pids of all processes whose environment carries the mark, however they were started."""
    needle = f"{variable}={mark}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and needle in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue  # it ended meanwhile
    return sorted(found)


@pytest.fixture(scope="session")
def marked_processes() -> Callable[..., list[int]]:
    """See `marked`."""
    return marked


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small Pile-format corpus: 60 files of Python's library and 60 topics of its manual."""
    import json as library
    import pydoc_data.topics

    import zstandard

    sources = sorted(Path(library.__file__).parent.parent.glob("*.py"))
    small = [f.read_text() for f in sources if 2000 < f.stat().st_size < 9000][:60]
    topics = sorted(pydoc_data.topics.topics.values(), key=len)[-60:]
    texts = [("Github", t) for t in small] + [("StackExchange", t[:6000]) for t in topics]
    lines = [json.dumps({"text": t, "meta": {"pile_set_name": name}}) for name, t in texts]
    file = tmp_path_factory.mktemp("pile") / "00.jsonl.zst"
    file.write_bytes(zstandard.ZstdCompressor().compress("\n".join(lines).encode() + b"\n"))
    return file
