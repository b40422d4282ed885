"""Mistakes a newcomer made in the first hour: one sentence each, before any work is done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from seamount.cli import main as cli
from seamount.core.errors import UserError
from tasks.reference import outside
from tasks.tracking import metric_name

SEAMOUNT = Path(sys.executable).with_name("seamount")


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SEAMOUNT, *arguments], capture_output=True, text=True, check=False)


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = shell("run", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert done.stderr.startswith("seamount: a file stands at --out")
    assert (tmp_path / "file").read_text() == "mine"


def test_an_output_inside_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    inside = str(tmp_path / "texts" / "sub")
    done = shell("run", "--corpus", str(tmp_path / "texts"), "--out", inside)
    assert done.returncode == 2 and "lies in it" in done.stderr
    with pytest.raises(UserError, match="lies in it"):
        outside(inside, str(tmp_path / "texts"))
    assert outside(str(tmp_path / "texts-2"), str(tmp_path / "texts")) == str(tmp_path / "texts-2")


def test_json_that_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = shell("corpus", "catalog", "--json", str(tmp_path / "file" / "x.json"))
    assert done.returncode == 2 and "cannot be written" in done.stderr


def test_an_unforeseen_error_is_one_sentence(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def broken(arguments: list[str]) -> None:
        raise ZeroDivisionError("of\nall things")

    monkeypatch.setattr(cli, "_dispatch", broken)
    with pytest.raises(SystemExit) as stopped:
        cli.main(["run"])
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert said.startswith("seamount: unexpected ZeroDivisionError: of all things (")
    assert said.count("\n") == 1


def test_any_component_name_makes_a_metric_name() -> None:
    assert metric_name("Pile-CC/<b>") == "Pile-CC/<b>"
    assert metric_name("a\tb\nc") == "a_b_c"
    assert metric_name("x" * 2000) == "x" * 200
    assert metric_name("") == "_"
