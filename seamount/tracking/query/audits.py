"""What a rerun of a run would lack, and what differs between two runs.

Where a run's code came from is read from what the run recorded: tags `NAMESPACE/commit`, `dirty`,
`command`, `python`, and the file `NAMESPACE/state.json` with packages and git's untracked files
(NAMESPACE is `source_code` unless the run chose another).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamount.tracking.artifacts import blob_path, digest_of
from seamount.tracking.query.run_view import RunView
from seamount.tracking.query.runs_table import open_run
from seamount.tracking.store.lineage import trace

NAMESPACE = "source_code"
_MAX_STATE_BYTES = 1 << 24
_SEED = re.compile(r"(^|[^a-z])seeds?($|[^a-z])", re.I)


@dataclass
class Audit:
    """`missing`: what a rerun would lack, a sentence each; `held`: what was recorded."""

    run_id: str
    missing: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"run_id": self.run_id, "missing": self.missing, "held": self.held}


@dataclass(frozen=True)
class Source:
    """What a run recorded of its code and environment: `tags` without their namespace."""

    namespace: str
    tags: Mapping[str, str]
    state: Mapping[str, Any]
    has_diff: bool

    @property
    def packages(self) -> list[str]:
        """name-version of what was installed."""
        return list(self.state.get("packages") or [])


def audit(run_id: str, store: str | Path | None = None) -> Audit:
    """What a rerun of the run would lack: code, seeds, packages, configuration, files."""
    run = open_run(run_id, store)
    result, source = Audit(run_id), source_of(run)
    _origin(result, run)
    _code(result, source)
    _environment(result, source)
    _settings(result, run)
    _files(result, run)
    return result


def _origin(result: Audit, run: RunView) -> None:
    """A fork begins where its parent was: without that it cannot be run again."""
    if run.row["fork_run_id"] is None:
        return
    result.held.append(f"forked from {run.row['fork_run_id']} at step {run.row['fork_step']}")
    with run.store.index() as index:
        problem = trace(index, run.run_id)[1]
    if problem:
        result.missing.append(f"its origin: {problem}")


def source_of(run: RunView) -> Source:
    """What the run recorded of its source, under the namespace it chose."""
    tags, files = run.tags, run.artifacts
    marks = [key for key in tags if key.endswith("/packages_sha256")]
    namespace = marks[0].removesuffix("/packages_sha256") if marks else NAMESPACE
    own = {
        key.removeprefix(f"{namespace}/"): value
        for key, value in tags.items()
        if key.startswith(f"{namespace}/")
    }
    if "commit" not in own and "mlflow.source.git.commit" in tags:
        own["commit"] = tags["mlflow.source.git.commit"]
    state = _json_file(run, f"{namespace}/state.json", files)
    return Source(namespace, own, state, f"{namespace}/diff.patch" in files)


def _json_file(run: RunView, name: str, files: Mapping[str, Any]) -> dict[str, Any]:
    if name not in files or files[name]["size_bytes"] > _MAX_STATE_BYTES:
        return {}
    try:
        found = json.loads(run.file_path(name).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _code(result: Audit, source: Source) -> None:
    commit, git = source.tags.get("commit"), source.state.get("git") or {}
    if commit is None:
        result.missing.append("the git commit of the code: none was recorded")
        return
    result.held.append(f"git commit {commit}")
    if source.tags.get("dirty") == "true":
        if not source.has_diff:
            result.missing.append("changes to the code that were not committed: no diff was kept")
        elif git.get("diff_cut"):
            result.missing.append("a part of the uncommitted changes: the diff was cut")
        else:
            result.held.append("uncommitted changes as a diff")
    elif "dirty" not in source.tags:
        result.missing.append("whether the code had uncommitted changes")
    if untracked := git.get("untracked"):
        result.missing.append(
            f"{len(untracked)} files that git does not track, such as {str(untracked[0])[:200]}"
        )


def _environment(result: Audit, source: Source) -> None:
    for key, what in (("command", "the command line"), ("python", "the Python version")):
        if source.tags.get(key):
            result.held.append(f"{what}: {source.tags[key][:200]}")
        else:
            result.missing.append(f"{what}: none was recorded")
    if source.packages:
        result.held.append(f"versions of {len(source.packages)} packages")
    else:
        result.missing.append("the versions of the packages: none were recorded")


def _settings(result: Audit, run: RunView) -> None:
    configs = run.configs
    if not configs:
        result.missing.append("the configuration: none was logged")
        return
    result.held.append(f"{len(configs)} configs in {len(run.snapshots)} snapshots")
    seeds = [f"{k} = {v}" for k, v in configs.items() if _SEED.search(k) and v is not None]
    if seeds:
        result.held.append(f"seeds: {', '.join(seeds)[:200]}")
    else:
        result.missing.append("the random seed: no config's name has the word seed")


def _files(result: Audit, run: RunView) -> None:
    kept = 0
    for name, entry in run.artifacts.items():
        if entry["digest"] is None:
            kept += 1
            continue
        blob = blob_path(run.store, entry["digest"])
        if not blob.is_file():
            result.missing.append(f"file {name}: its content is gone")
        elif digest_of(blob) != entry["digest"]:
            result.missing.append(f"file {name}: its content was changed after it was logged")
        else:
            kept += 1
    if kept:
        result.held.append(f"{kept} files")
    if run.state != "Completed":
        result.missing.append(f"an orderly end: the run is {run.state}")


def compare(left_id: str, right_id: str, store: str | Path | None = None) -> dict[str, Any]:
    """What differs between two runs: {section: {name: [left, right]}}, None where one has none.

    Sections: configs, tags, metrics (last values; NaN equals NaN), files (digests), environment
    (commit, command, Python and each package's version).
    """
    left, right = open_run(left_id, store), open_run(right_id, store)
    pairs = {
        "configs": (left.configs, right.configs),
        "tags": (_own_tags(left), _own_tags(right)),
        "metrics": (_lasts(left), _lasts(right)),
        "files": (_digests(left), _digests(right)),
        "environment": (_surroundings(left), _surroundings(right)),
    }
    return {section: differences(*pair) for section, pair in pairs.items()}


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Name -> [left, right] where the two are not the same."""
    return {
        name: [left.get(name), right.get(name)]
        for name in sorted(left.keys() | right.keys())
        if name not in left or name not in right or not _same(left[name], right[name])
    }


def _same(left: Any, right: Any) -> bool:
    both_nan = isinstance(left, float) and isinstance(right, float)
    if both_nan and math.isnan(left) and math.isnan(right):
        return True
    return type(left) is type(right) and left == right


def _own_tags(run: RunView) -> dict[str, str]:
    described = ("mlflow.", f"{source_of(run).namespace}/")
    return {key: value for key, value in run.tags.items() if not key.startswith(described)}


def _lasts(run: RunView) -> dict[str, float]:
    return {name: summary.last_value for name, summary in run.metrics.items()}


def _digests(run: RunView) -> dict[str, Any]:
    return {name: entry["digest"] or entry["size_bytes"] for name, entry in run.artifacts.items()}


def _surroundings(run: RunView) -> dict[str, str]:
    source = source_of(run)
    packages = (text.rpartition("-") for text in source.packages)
    return dict(source.tags) | {f"package {name}": version for name, _, version in packages}
