"""`seamount train` without training: what it prints, and the exit code of a mistake."""

from __future__ import annotations

import json

import pytest
import yaml

from seamount.cli.main import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = 0
    try:
        main(["train", *arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_print_config_is_the_recipe_with_its_overrides(capsys):
    code, out, _ = run(capsys, "text/demo.yaml", "steps=7", "--print-config")
    assert code == 0 and yaml.safe_load(out)["steps"] == 7
    code, out, _ = run(capsys, "--print-config", "text/demo.yaml", "--json")
    assert code == 0 and json.loads(out)["model"]["vocab_size"] >= 1024


def test_dry_run_predicts(capsys, tmp_path):
    target = tmp_path / "plan.json"
    overrides = ("model={preset: tiny, tied: true}", "steps=10", "data.sequence_length=32")
    code, _, _ = run(capsys, "text/demo.yaml", *overrides, "--dry-run", "--json", str(target))
    plan = json.loads(target.read_text())
    batch = plan["tokens_per_step"]
    # tiny, by hand: 512*32 table + 2 * (2*32*8*(4+2) attention + 3*32*96 mlp) + 5 norms of 32
    parameters = 512 * 32 + 2 * (2 * 32 * 8 * 6 + 3 * 32 * 96) + 5 * 32
    assert code == 0 and plan["parameters"] == parameters
    assert plan["model_flops"] == (6 * parameters + 12 * 2 * 4 * 8 * 32) * batch * 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text/demo.yaml", "stepz=1"), "did you mean 'steps'"),
        (("text/dem.yaml",), "text/demo.yaml"),
        (("text/demo.yaml", "parallel.tensor=5", "--dry-run"), "parallel.tensor 5 does not divide"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_2(capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2 and message in err and not out
    assert len(err.strip().splitlines()) == 1


def test_help_shows_an_example(capsys):
    for arguments in (("recipe", "--help"), ("parity", "--help")):
        code, out, _ = run(capsys, *arguments)
        assert code == 0 and "Example: seamount train" in out
