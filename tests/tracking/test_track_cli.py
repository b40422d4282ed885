"""`seamount track` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from seamount.core.errors import UserError
from seamount.tracking import Run
from seamount.tracking.segments.strands import segment_files


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


def test_text_of_a_run_moves_no_cursor(store, capsys):
    """Values and messages hold anything: an escape sequence could hide or forge lines."""
    from seamount.cli import track_find

    evil = "a\x1b[2J\nstate    Completed"
    with pytest.raises(RuntimeError), Run(store=store.uri, run_id="r", tags={"t": "b\nc"}) as run:
        run.log_configs({"evil": evil})
        run.assign_files({"weights.bin": b"x"})
        raise RuntimeError(evil)
    with pytest.raises(UserError, match="unknown file 'none'"):
        track_find.get("r", download="none", store=store.uri)
    track_find.get("r", store=store.uri)
    track_find.get("r", config=True, store=store.uri)
    track_find.ls(columns="config.evil,tag.t", store=store.uri)
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and shown.count("\\x1b[2J\\nstate") == 4
    assert [line.split()[1] for line in shown.splitlines() if line.startswith("state ")] == [
        "Failed"
    ]


def test_verify_exits_1_and_names_what_is_missing(track, run, store):
    (path,) = segment_files(store.run_folder(run.run_id))
    (store.artifact_folder(run.run_id) / "a.txt").unlink()
    next((store.folder / "blobs").rglob("??/*")).unlink()
    answer = track("verify", run.run_id, "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["ok"] is False
    assert "file a.txt: its content" in answer.stderr
    assert path.exists()


def test_runs_are_found_sorted_and_shown_by_attribute(track, store):
    for number in range(3):
        with Run(project="demo", name=f"n{number}", run_id=f"r{number}", store=store.uri) as run:
            run.log_configs({"lr": number / 10, "seed": 1})
            run.log_metrics({"loss": 3.0 - number}, step=100)
            run.assign_files({"model/w.bin": b"w"})
    shown = track("query", "config.lr > 0 and not name = 'n9'", "--sort", "min(loss)",
                  "--columns", "config.lr,at(loss, 100)")  # fmt: skip
    lines = [line.split("  ") for line in shown.stdout.splitlines()]
    assert [(line[0], line[-2], line[-1]) for line in lines] == [
        ("r2", "config.lr=0.2", "at(loss, 100)=1.0"),
        ("r1", "config.lr=0.1", "at(loss, 100)=2.0"),
    ]
    limited = track("ls", "--where", "last(loss) < 3", "--search", "?config:^lr=", "--limit", "1",
                    "--json")  # fmt: skip
    assert [row["run_id"] for row in json.loads(limited.stdout)] == ["r2"]
    assert json.loads(track("best", "loss", "--json").stdout)["checkpoint"] == "model/w.bin"
    assert json.loads(track("get", "r1", "--config", "--json").stdout) == {"lr": 0.1, "seed": 1}
    assert track("get", "r1", "--files").stdout == "model/w.bin\t1 bytes\n"


def test_download_audit_and_importance(track, run, tmp_path):
    done = track("get", run.run_id, "--download", "a.txt", "--to", str(tmp_path))
    assert (done.stdout, (tmp_path / "a.txt").read_bytes()) == (f"{tmp_path / 'a.txt'}\n", b"x")
    audit = track("audit", run.run_id).stdout
    assert "lacks  the random seed" in audit and "has    1 configs in 1 snapshots" in audit
    assert "no differences" in track("audit", run.run_id, run.run_id).stderr
    few = track("importance", "loss")
    assert (few.returncode, "at least 4 are needed" in few.stderr) == (2, True)


def test_a_mistake_in_a_filter_is_pointed_at(track, run):
    answer = track("query", "state = 'Completed' and loss < 2")
    sentence, shown, caret = answer.stderr.splitlines()
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "unknown attribute 'loss': write config.loss, tag.loss or last(loss)" in sentence
    assert shown[caret.index("^") :].startswith("loss < 2")
