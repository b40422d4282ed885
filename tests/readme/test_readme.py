"""The README's first screen stays true: its commands run, its paths exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEAMOUNT = str(Path(sys.executable).with_name("seamount"))
SMALL = ["--max-bytes", "400000", "--workers", "0", "steps=20", "model.preset=tiny"]

pytestmark = [pytest.mark.timeout(600)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def shell_commands() -> list[str]:
    lines = [line.strip() for block in blocks("sh") for line in block.splitlines()]
    return [re.sub(r"\s+#.*", "", line) for line in lines if line]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder in which a small `seamount run` has left runs/demo, as `make run` does."""
    folder = tmp_path_factory.mktemp("readme")
    environment = {**os.environ, "SEAMOUNT_HOME": str(folder / "home"), "PYTHONSAFEPATH": "1"}
    run(folder, environment, [SEAMOUNT, "run", "--out", "runs/demo", *SMALL])
    return folder, environment


def run(folder: Path, environment: dict[str, str], command: list[str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def test_the_two_commands_stand_first() -> None:
    assert shell_commands()[:2] == ["make run", "make test"]
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(r"^run:", makefile, re.MULTILINE)
    assert re.search(r"^test:", makefile, re.MULTILINE)


@pytest.mark.parametrize("command", shell_commands()[2:])
def test_command_runs(place: tuple[Path, dict[str, str]], command: str) -> None:
    import shlex

    program, *arguments = shlex.split(command)
    assert program == ".venv/bin/seamount", "README commands use the project's own environment"
    assert run(*place, [SEAMOUNT, *arguments]).strip()


@pytest.mark.slow
def test_python_example_runs(place: tuple[Path, dict[str, str]]) -> None:
    (code,) = blocks("python")
    printed = run(*place, [sys.executable, "-c", code])
    assert "runs/small/export/model.onnx" in printed.splitlines()[-1]


def test_nothing_is_left_to_fill_in() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        assert "@@" not in page.read_text(), page


def test_every_named_path_exists() -> None:
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\(([^)h][^)]*)\)", text)
    named = re.findall(r"`((?:flows|tasks|models|seamount|docs|recipes|datasets)/[^`* ]*)`", text)
    assert links and named
    missing = [path for path in links + named if not (ROOT / path).exists()]
    assert missing == []


def test_make_names_every_target_of_the_readme() -> None:
    targets = set(re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text()))
    defined = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert targets <= defined
