"""`seamount eval`, `generate`, `export` (its refusals) and `lineage` as a person types them."""

from __future__ import annotations

import json

import pytest

from seamount.cli.main import main
from seamount.core import lineage


def run(capsys, *arguments):
    """(exit code, stdout, stderr) of the command line."""
    code = 0
    try:
        main([str(a) for a in arguments])
    except SystemExit as error:
        code = error.code or 0
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def text(shared_data):
    return shared_data / "messy" / "text" / "multi_frame.jsonl.zst"


@pytest.fixture
def model(shared_data):
    return shared_data / "llama_aidreams260k"


def test_eval_bpb_of_a_compressor_writes_and_prints(capsys, text, tmp_path):
    code, out, _ = run(capsys, "eval", "bpb", "zstd", "--data", text, "--json", tmp_path / "z.json")
    assert code == 0
    assert "weighted" in out
    assert "missing:" in out  # weights scaled to the components present, and said so
    result = json.loads((tmp_path / "z.json").read_text())
    assert {"protocol", "components", "weighted", "unweighted", "all"} <= result.keys()
    assert set(result["components"]["Github"]) >= {"bytes", "tokens", "nats", "bpb", "low", "high"}
    code, out, _ = run(capsys, "eval", "bpb", "xz", "--data", text, "--json")
    assert json.loads(out)["protocol"]["name"] == "xz"


def test_eval_compare(capsys, text, tmp_path):
    for name in ("zstd", "xz"):
        run(capsys, "eval", "bpb", name, "--data", text, "--json", tmp_path / f"{name}.json")
    code, out, err = run(capsys, "eval", "compare", tmp_path / "zstd.json", tmp_path / "xz.json")
    assert code == 0
    assert "Github" in out
    assert "'zstd' and 'xz'" in err


def test_eval_bpb_of_a_model(capsys, model, text):
    code, out, _ = run(
        capsys,
        "eval",
        "bpb",
        model,
        "--data",
        text,
        "--context",
        64,
        "--prefix-token",
        "<s>",
        "--json",
    )
    result = json.loads(out)
    assert code == 0
    assert result["protocol"]["context_length"] == 64
    assert result["protocol"]["prefix_token"] == "<s>"


def test_generate_streams_or_prints_json(capsys, model):
    reference = json.loads((model / "reference_greedy.json").read_text())["prompts"][0]
    arguments = ("generate", "--model", model, reference["prompt"], "--greedy")
    code, out, _ = run(capsys, *arguments, "--max-new-tokens", 64)
    assert (code, out) == (0, reference["greedy_text"] + "\n")
    _, out, _ = run(capsys, *arguments, "--max-new-tokens", 8, "--json")
    result = json.loads(out)
    assert result["prompt_ids"] == reference["prompt_ids"]
    assert result["ids"] == reference["greedy_ids"][:8]


def test_lineage_draws_the_tree(capsys, tmp_path):
    lineage.write(str(tmp_path / "corpus"), lineage.Lineage("corpus", "c1"))
    inputs = {"corpus": {"path": str(tmp_path / "corpus"), "digest": "c0"}}
    lineage.write(str(tmp_path / "tokens"), lineage.Lineage("tokens", "t1", inputs))
    code, out, _ = run(capsys, "lineage", tmp_path / "tokens")
    assert code == 0
    assert "tokens" in out
    assert "changed" in out
    _, out, _ = run(capsys, "lineage", tmp_path / "tokens", "--json")
    assert json.loads(out)["inputs"]["corpus"]["state"] == "changed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("eval", "bpb", "/nope", "--data", "TEXT"), "no model at"),
        (("eval", "bpb", "zstd", "--data", "/nope"), "nothing stands at"),
        (("eval", "bpb", "unigram", "--data", "TEXT"), "no train split"),
        (("generate", "--model", "/nope", "x"), "no model at"),
        (("export", "MODEL", "--out", "OUT", "--format", "torchscript"), "'torchscript'"),
        (("export", "MODEL", "--out", "OUT", "--max-bpb-delta", "1"), "give --data"),
        (("lineage", "/nope/x"), "nothing stands at"),
    ],
)
def test_mistakes_are_one_sentence_and_exit_2(capsys, arguments, message, text, model, tmp_path):
    places = {"TEXT": text, "MODEL": model, "OUT": tmp_path / "out"}
    code, _, err = run(capsys, *(places.get(a, a) for a in arguments))
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
