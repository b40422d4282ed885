"""The main flow as a plain Python call, on a temporary server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

TINY = [
    "model.preset=tiny",
    "model.vocab_size=512",
    "data.sequence_length=32",
    "schedule.warmup_steps=2",
    "steps=20",
]


def test_the_flow_is_a_function_of_its_parameters(
    harness: None, corpus_file: Path, tmp_path: Path
) -> None:
    from flows.corpus_to_model import corpus_to_model
    from seamount.core import lineage
    from seamount.tracking.run import Run

    result = corpus_to_model(
        corpus=str(corpus_file),
        out=str(tmp_path / "out"),
        overrides=TINY,
        corpus_options={"workers": 0, "test_share": 0.05},
        scoring_options={"baselines": ["zstd", "unigram"]},
        export_options={"max_bpb_delta": 0.5},
    )
    assert json.loads(Path(result["result"]).read_text()) == json.loads(json.dumps(result))
    assert set(result["baselines"]) == {"zstd", "unigram"}
    assert result["bpb"]["weighted"] < result["baselines"]["unigram"] + 4
    assert result["export"]["gate"]["passed"] is True
    tree = lineage.tree(str(tmp_path / "out"))
    assert set(tree["inputs"]) == {"corpus", "tokenizer", "model", "export"}
    assert tree["inputs"]["export"]["state"] == "ok"
    with Run(run_id=result["run_id"]) as run:
        assert (run.artifact_folder / "report.html").exists()
    curve = json.loads((tmp_path / "out" / "scores" / "training.json").read_text())
    assert [step for step, _ in curve["train"]] == [10, 20]


def test_an_empty_corpus_ends_in_the_users_sentence(harness: None, tmp_path: Path) -> None:
    from flows.build_corpus import build_corpus
    from seamount.core.errors import UserError

    with pytest.raises(UserError, match="nothing-there"):
        build_corpus(sources=[str(tmp_path / "nothing-there")], out=str(tmp_path / "out"))
