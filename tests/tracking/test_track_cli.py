"""`seamount track` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from seamount.tracking import Run
from seamount.tracking.strands import segment_files


@pytest.fixture
def track(store, root):
    def call(*arguments: str, store_uri: str | None = store.uri) -> subprocess.CompletedProcess:
        where = ["--store", store_uri] if store_uri else []
        return subprocess.run(
            [sys.executable, "-m", "seamount.cli.main", "track", *arguments, *where],
            capture_output=True, text=True, cwd=root, timeout=60, check=False,
        )  # fmt: skip

    return call


@pytest.fixture
def run(store):
    with Run(project="demo", name="first", store=store.uri, tags=["t"]) as run:
        run.log_configs({"lr": 0.1})
        run.log_metrics({"loss": 2.0}, step=0)
        run.log_metrics({"loss": float("nan")}, step=1)
        run.assign_files({"a.txt": b"x"})
    return run


def test_ls_get_and_verify(track, run, tmp_path):
    assert run.run_id in track("ls").stdout
    assert track("ls", "--project", "other").stdout == ""
    (row,) = json.loads(track("ls", "--json").stdout)
    assert (row["run_id"], row["state"], row["project"]) == (run.run_id, "Completed", "demo")
    shown = track("get", run.run_id).stdout
    for words in ("lr = 0.1", "t = true", "a.txt", "loss = nan", "2 points"):
        assert words in shown
    points = json.loads(track("get", run.run_id, "--metric", "loss", "--json").stdout)
    assert [p["value"] for p in points] == [2.0, "NaN"]
    assert "is whole: 2 points" in track("verify", run.run_id).stdout
    target = tmp_path / "v.json"
    track("verify", run.run_id, "--json", str(target))
    assert json.loads(target.read_text())["ok"] is True


def test_mistakes_are_one_sentence_and_exit_2(track, run, tmp_path):
    answer = track("get", "unknown")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "no run 'unknown'" in answer.stderr
    assert "did you mean 'loss'" in track("get", run.run_id, "--metric", "los").stderr
    assert track("ls", store_uri=f"seamount://{tmp_path}/none").returncode == 2
    assert track("ls", store_uri="s3://x/y").returncode == 2
    assert track("ui", "--host", "0.0.0.0").returncode == 2


def test_verify_exits_1_and_names_what_is_missing(track, run, store):
    (path,) = segment_files(store.run_folder(run.run_id))
    (store.artifact_folder(run.run_id) / "a.txt").unlink()
    next((store.folder / "blobs").rglob("??/*")).unlink()
    answer = track("verify", run.run_id, "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["ok"] is False
    assert "file a.txt: its content" in answer.stderr
    assert path.exists()
