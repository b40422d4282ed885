"""Where a run's code came from: command, packages, and git's commit, branch and difference.

The process itself says its command, masked (seamount.tracking.watcher.command); nothing of the
environment is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from seamount.core import settings
from seamount.core.errors import SeamountError
from seamount.tracking import artifacts
from seamount.tracking.segments.codec import Header
from seamount.tracking.store.folder import Store

MAX_DIFF_BYTES = 1 << 20
_MAX_CHARS = 1000
_GIT_S = 20.0


def events(
    store: Store, header: Header, wanted: dict[str, Any], path: list[str]
) -> Iterator[dict[str, Any]]:
    """The events that describe the source: tags for what one filters by, files for the whole."""
    namespace = wanted.get("namespace", "source_code")
    packages = _packages(path)
    state = {name: wanted.get(name) for name in ("command", "entry_point", "folder", "python")}
    git = _git(wanted.get("folder") or "/")
    diff = git.pop("diff", b"")
    state |= {"host": header.host, "packages": packages, "git": git}
    contents = {"state.json": json.dumps(state, indent=1).encode()}
    if diff and wanted.get("diff", True):
        contents["diff.patch"] = diff
    yield {"kind": "tags", "set": _tags(namespace, state, packages)}
    files = {}
    for name, content in contents.items():
        try:
            full = f"{namespace}/{name}"
            files[full] = artifacts.put(store, header.run_id, full, content)
        except SeamountError:
            continue  # no room: the tags say the most of it
    yield {"kind": "files", "files": files}


def _tags(namespace: str, state: dict[str, Any], packages: list[str]) -> dict[str, str]:
    git = state["git"]
    tags = {
        "commit": git.get("commit"),
        "branch": git.get("branch"),
        "dirty": str(git["dirty"]).lower() if "dirty" in git else None,
        "entry_point": state["entry_point"],
        "command": " ".join(state["command"] or [])[:_MAX_CHARS],
        "python": state["python"],
        "host": state["host"],
        "packages_sha256": hashlib.sha256("\n".join(packages).encode()).hexdigest(),
    }
    found = {f"{namespace}/{name}": value for name, value in tags.items() if value}
    if git.get("commit"):
        found["mlflow.source.git.commit"] = git["commit"]
    if state["entry_point"]:
        found["mlflow.source.name"] = state["entry_point"]
    return found


def _packages(path: list[str]) -> list[str]:
    """name-version of every distribution on the trainer's path, by the names of their folders."""
    found = set()
    for entry in path:
        try:
            names = os.listdir(entry)
        except OSError:
            continue
        found |= {n.removesuffix(".dist-info") for n in names if n.endswith(".dist-info")}
    return sorted(found)


def _git(folder: str) -> dict[str, Any]:
    """Commit, branch, whether files differ, and how; empty where there is no repository."""
    commit = _ask(folder, "rev-parse", "HEAD")
    if not commit:
        return {}
    branch = _ask(folder, "rev-parse", "--abbrev-ref", "HEAD")
    diff = _ask(folder, "diff", "--no-ext-diff", "--no-textconv", "HEAD", limit=MAX_DIFF_BYTES)
    untracked = _ask(folder, "ls-files", "--others", "--exclude-standard", limit=1 << 16)
    return {
        "commit": commit.decode().strip(),
        "branch": branch.decode("utf-8", "backslashreplace").strip(),
        "dirty": bool(diff),
        "diff": diff,
        "diff_cut": len(diff) >= MAX_DIFF_BYTES,
        "untracked": untracked.decode("utf-8", "backslashreplace").splitlines()[:1000],
    }


def _ask(folder: str, *question: str, limit: int = 1 << 12) -> bytes:
    """Git's answer, cut at `limit` bytes; empty where it has none in time."""
    command = ["git", "-C", folder, *question]
    variables = settings.child_environment(GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0")
    try:
        with subprocess.Popen(
            ["timeout", str(_GIT_S), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        ) as process:
            assert process.stdout is not None
            answer = process.stdout.read(limit)
            if len(answer) >= limit:
                process.kill()
                return answer
    except OSError:
        return b""
    return answer if process.returncode == 0 else b""
