"""Where the code came from, under the names that neptune_scale gives it."""

from __future__ import annotations

import datetime
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seamount.core import settings
from seamount.tracking.compat.neptune_scale.types import File
from seamount.tracking.watcher import command

if TYPE_CHECKING:
    from seamount.tracking.compat.neptune_scale.api.run import SourceTrackingConfig

_GIT_S = 20.0
_SEPARATOR = "\x1f"
_COMMIT = _SEPARATOR.join(("%H", "%B", "%an", "%ae", "%cI"))
_NAMES = ("commit_id", "message", "author_name", "author_email")


def describe(wanted: SourceTrackingConfig) -> tuple[dict[str, Any], dict[str, Any]]:
    """(configs, files) of the repository around `wanted.repository`; empty where there is none."""
    folder = str(wanted.repository or Path.cwd())
    answer = _git(folder, "log", "-1", f"--format={_COMMIT}")
    if answer is None:
        return {}, {}
    # Undecodable bytes of a message are told apart from text: JSON has no lone surrogates.
    plain = answer.encode("utf-8", "backslashreplace").decode()
    *commit, date = plain.rstrip("\n").split(_SEPARATOR)
    space = wanted.namespace
    found: dict[str, Any] = {
        f"{space}/commit/{name}": value for name, value in zip(_NAMES, commit, strict=True)
    }
    found[f"{space}/commit/commit_date"] = datetime.datetime.fromisoformat(date)
    branch = (_git(folder, "rev-parse", "--abbrev-ref", "HEAD") or "").strip()
    found[f"{space}/branch"] = "Detached HEAD" if branch == "HEAD" else branch
    found[f"{space}/dirty"] = bool(_git(folder, "diff", "HEAD", "--name-only"))
    for name in (_git(folder, "remote") or "").split():
        address = _git(folder, "remote", "get-url", name)
        found[f"{space}/remote/{name}"] = (address or "").strip()
    called = command.of_this_process()
    if wanted.upload_run_command:
        found[f"{space}/run_command"] = " ".join(called["command"])
    return found, dict(_files(wanted, folder, called["entry_point"]))


def _files(wanted: SourceTrackingConfig, folder: str, entry_point: str | None) -> Any:
    space = wanted.namespace
    if wanted.upload_entry_point and entry_point and os.path.isfile(entry_point):
        yield f"{space}/entry_point", entry_point
    if wanted.upload_diff_head and (diff := _git(folder, "diff", "--no-ext-diff", "HEAD")):
        yield (
            f"{space}/diff/head",
            File(diff.encode("utf-8", "surrogateescape"), "application/patch"),
        )
    if wanted.upload_diff_upstream and (base := _git(folder, "rev-parse", "@{upstream}")):
        base = base.strip()
        diff = _git(folder, "diff", "--no-ext-diff", base) or ""
        content = diff.encode("utf-8", "surrogateescape")
        yield f"{space}/diff/{base}", File(content, "application/patch")


def _git(folder: str, *question: str) -> str | None:
    """Git's answer, None where it has none in time."""
    variables = settings.child_environment(GIT_OPTIONAL_LOCKS="0", GIT_TERMINAL_PROMPT="0")
    try:
        done = subprocess.run(
            ["git", "-C", folder, *question],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_S,
            env=variables,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
