"""Windows longer than those of the training are told of, wherever the model came from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from seamount.cli.main import main
from seamount.core import lineage, storage
from seamount.evaluation.bpb import BpbResult
from seamount.inference.loading import load_model
from seamount.inference.score import ModelScorer
from seamount.inference.trained_context import trained_context


@pytest.fixture
def run_folder(tiny_folder: str, tmp_path: Path) -> Path:
    """A run's folder as training and export leave it, trained on sequences of 8 tokens."""
    run = tmp_path / "run"
    shutil.copytree(tiny_folder, run / "model")
    checkpoint = run / "checkpoints" / "step_00000002"
    manifest = {"recipe": {"data": {"sequence_length": 8}}}
    storage.write_json(str(checkpoint / "manifest.json"), manifest)
    made_from = {"checkpoint": {"path": str(checkpoint), "digest": "c"}}
    lineage.write(str(run / "model"), lineage.Lineage("model", "m", made_from))
    of_model = {"model": {"path": str(run / "model"), "digest": "m"}}
    lineage.write(str(run / "export"), lineage.Lineage("export", "e", of_model))
    return run


def test_found_from_checkpoint_model_and_export(run_folder: Path, tiny_folder: str) -> None:
    places = ("checkpoints/step_00000002", "model", "export")
    assert [trained_context(str(run_folder / place)) for place in places] == [8, 8, 8]
    assert trained_context(tiny_folder) is None
    moved = run_folder.rename(run_folder.parent / "moved")
    assert [trained_context(str(moved / place)) for place in places] == [8, 8, 8]
    (moved / "checkpoints/step_00000002/manifest.json").write_text("{")
    assert trained_context(str(moved / "model")) is None


def test_warned_only_beyond_the_trained_length(run_folder: Path) -> None:
    loaded = load_model(str(run_folder / "model"))
    (warning,) = ModelScorer(loaded, 16).warnings
    assert "sequences of 8 tokens" in warning and "windows of 16" in warning
    assert "windows of 32" in ModelScorer(loaded).warnings[0]  # the default: all the model takes
    assert ModelScorer(loaded, 8).warnings == []


def test_eval_bpb_tells_and_records_it(
    run_folder: Path, shared_data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = shared_data / "messy/text/no_meta.jsonl.zst"
    target = tmp_path / "r.json"
    command = ["eval", "bpb", str(run_folder), "--data", str(text), "--json", str(target)]
    main([*command, "--context", "16"])
    told = capsys.readouterr().err
    assert told.count("warning: the model was trained on sequences of 8 tokens") == 1
    (recorded,) = json.loads(target.read_text())["warnings"]
    assert recorded in told
    assert BpbResult.from_dict(json.loads(target.read_text())).warnings == [recorded]
    main([*command, "--context", "8"])
    assert "warning" not in capsys.readouterr().err
    assert json.loads(target.read_text())["warnings"] == []
