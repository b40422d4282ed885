"""`seamount run` from the shell, in a folder that has its own flows/, tasks/ and models/."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect_services import MARK, SEAMOUNT

pytestmark = pytest.mark.timeout(400)

RESULT = {
    "corpus",
    "tokenizer",
    "checkpoint",
    "bpb",
    "baselines",
    "export",
    "run_id",
    "report",
    "lineage",
    "seconds",
}
TINY = [
    "model.preset=tiny",
    "model.vocab_size=512",
    "data.sequence_length=32",
    "schedule.warmup_steps=2",
]


@pytest.fixture(scope="module")
def shell(
    hostile_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `seamount` in the hostile folder with one home for all tests of this file."""
    home = tmp_path_factory.mktemp("run-home")

    def run(*arguments: str, limit_s: float = 360) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SEAMOUNT, *arguments],
            cwd=hostile_folder,
            env={**os.environ, "SEAMOUNT_HOME": str(home), MARK: str(home)},
            capture_output=True,
            text=True,
            timeout=limit_s,
        )

    run.home = home  # type: ignore[attr-defined]
    return run


def test_text_to_model_and_again(
    shell: Any, corpus_file: Path, tmp_path: Path, marked_processes: Callable[..., list[int]]
) -> None:
    out, result_file = tmp_path / "out", tmp_path / "result.json"
    command = ["run", "--corpus", str(corpus_file), "--out", str(out), "--workers", "0"]
    command += ["--json", str(result_file), *TINY, "steps=20", "checkpoint.every_steps=10"]
    first = shell(*command)
    assert first.returncode == 0, first.stderr + first.stdout
    result = json.loads(result_file.read_text())
    assert set(result) >= RESULT
    assert set(result["bpb"]["components"]) == {"Github", "StackExchange"}
    assert set(result["baselines"]) == {"zstd", "xz", "zstd_whole", "xz_whole", "unigram"}
    assert set(result["export"]) >= {"path", "format", "bpb_delta", "components", "gate"}
    for path in ("corpus", "tokenizer", "checkpoint", "report", "lineage"):
        assert Path(result[path]).exists(), path
    assert Path(result["export"]["path"]).suffix == ".onnx"
    page = (out / "report.html").read_text()
    assert "<svg" in page and "http://" not in page.replace("http://www.w3.org", "")
    for text in (
        "weighted by pile, scaled to the components present: 2, ",
        "zstd -19, whole",
        "next:",
    ):
        assert text in first.stdout
    stations = ("sources:", "corpus:", "tokenizer:", "tokens:", "training:", "export:", "report:")
    assert all(f"  {name}" in first.stderr for name in stations), first.stderr
    assert "Traceback" not in first.stderr and "Beginning" not in first.stderr
    assert marked_processes(str(shell.home)) == [], "processes outlived the run"

    second = shell(*command)
    assert second.returncode == 0, second.stderr
    for task in ("corpus", "tokenize corpus", "train language model", "evaluate bpb"):
        assert f"{task}: unchanged, reused from an earlier run" in second.stderr
    again = json.loads(result_file.read_text())
    assert again["bpb"] == result["bpb"] and again["run_id"] != result["run_id"]

    told = shell("lineage", str(out))
    assert told.returncode == 0 and "corpus" in told.stdout and "export" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--corpus", "nothing-here"], "nothing-here"),
        (["--recipe", "text/nothing.yaml"], "text/demo.yaml"),
        (["stepz=3"], "stepz"),
        (["steps=many"], "steps"),
    ],
)
def test_mistakes_end_in_one_sentence_before_anything_starts(
    shell: Any, tmp_path: Path, arguments: list[str], says: str
) -> None:
    done = shell("run", "--out", str(tmp_path / "out"), *arguments)
    assert done.returncode == 2 and says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_value_the_flow_refuses_ends_in_one_sentence(shell: Any, tmp_path: Path) -> None:
    done = shell("run", "--out", str(tmp_path / "out"), "--workers", "-1")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "seamount: parameter corpus_options.workers is -1: "
        "input should be greater than or equal to 0"
    )
    assert not (tmp_path / "out").exists()


def test_an_error_inside_a_task_reaches_the_shell_as_its_sentence(
    shell: Any, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl.zst"
    broken.write_bytes(b"\x28\xb5\x2f\xfd" + bytes(40))
    done = shell("run", "--corpus", str(broken), "--out", str(tmp_path / "out"), "--workers", "0")
    assert done.returncode in (1, 2), done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("seamount: ") and "broken.jsonl.zst" in last
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "corpus" / "manifest.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_leaves_no_process_and_the_same_command_continues(
    shell: Any,
    corpus_file: Path,
    tmp_path: Path,
    hostile_folder: Path,
    marked_processes: Callable[..., list[int]],
    number: int,
) -> None:
    out = tmp_path / "out"
    command = ["run", "--corpus", str(corpus_file), "--out", str(out), "--workers", "0"]
    command += [*TINY, "steps=1500", "checkpoint.every_steps=100"]
    environment = {**os.environ, "SEAMOUNT_HOME": str(shell.home), MARK: str(shell.home)}
    with subprocess.Popen(
        [SEAMOUNT, *command], cwd=hostile_folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        give_up = time.monotonic() + 200
        while not (out / "checkpoints" / "LATEST").exists():
            assert process.poll() is None and time.monotonic() < give_up
            time.sleep(0.2)
        process.send_signal(number)
        said = process.communicate(timeout=90)[1]
    assert process.returncode == 75, said
    assert "same command" in said and "continue" in said and "Traceback" not in said
    assert marked_processes(str(shell.home)) == []
    assert not (out / "model").exists()
    if number == signal.SIGINT:
        return  # the way back is the same

    done = shell(*command)
    assert done.returncode == 0, done.stderr
    assert "continuing from step" in done.stderr
    curve = json.loads((out / "scores" / "training.json").read_text())["train"]
    assert [step for step, _ in curve] == list(range(10, 1501, 10)), "the curve has a gap"
