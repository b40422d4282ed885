"""Every family through the trainer: parity of two ranks, a real run, its prediction, its recipe."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch

from seamount.core.errors import UserError
from seamount.core.records import Document
from seamount.corpora.text.tokenizer import train_tokenizer
from seamount.corpora.text.tokens import write_tokens
from seamount.training.language import TrainRequest, train
from seamount.training.parity import LAYOUTS, compare, shrunk
from seamount.training.parity_ranks import gradient_gaps
from seamount.training.prediction import predict
from seamount.training.recipe import Recipe, load_recipe, recipe_from_dict, recipe_to_dict

LLAMA3 = "{rope_type: llama3, factor: 8, original_max_position_embeddings: 32, "
LLAMA3 += "low_freq_factor: 1, high_freq_factor: 4}"
BIASES = "qkv_bias: true, output_bias: true, mlp_bias: true"


def recipe_of(model: str, *overrides: str) -> Recipe:
    start = f"model={{preset: tiny, vocab_size: 320, {model}}}"
    return load_recipe("text/demo.yaml", [start, "data.sequence_length=34", *overrides])


def check_parity(model: str, *layouts: str) -> None:
    found = compare(recipe_of(model, "optimizer.clip_norm=1.0"), only=layouts)
    assert found["ok"] and found["layouts"].keys() >= set(layouts), found


def test_all_kinds_of_cut_at_once_compute_what_one_process_does():
    """Row and column biases, norms of heads, a window; four ranks, positions and stages cut too."""
    bits = "qkv_bias: true, output_bias: true, sliding_window: 20, sliding_from_layer: 1"
    check_parity(f"architecture: qwen3, {bits}", "tp2xpp2")


# What a family adds is cut over tensor ranks, their positions and stages; the two that differ most
# from Llama take every layout.
_CUT = ("sp", "tp2xpp2")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "layouts"),
    [
        ("architecture: gpt2", tuple(LAYOUTS)),
        ("architecture: gpt2, tied: false, mlp: gelu", _CUT),
        ("architecture: mistral, sliding_window: 20", _CUT),
        ("architecture: qwen2, sliding_window: 20, sliding_from_layer: 1", _CUT),
        ("architecture: qwen3, tied: true, head_dim: 12", tuple(LAYOUTS)),
        (f"{BIASES}, rope_scaling: {LLAMA3}", _CUT),
    ],
)
def test_every_layout_computes_what_one_process_does(model, layouts):
    check_parity(model, *layouts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "layout"), [("architecture: qwen3", "tp2"), ("architecture: gpt2", "sp")]
)
def test_shares_that_are_not_summed_would_show(model, layout):
    """Norms of heads without sequence parallelism, learned positions with it."""
    found = compare(recipe_of(model), only=[layout], plant="norms-not-summed")
    assert not found["ok"], found


def test_a_gradient_that_is_only_rounding_is_not_compared():
    """By hand: 1e-10 of the largest is rounding, 1e-6 of it is a gradient."""
    wanted = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([2e-10]), "c": torch.tensor([2e-6])}
    given = {"a": torch.tensor([1.0, 2.5]), "b": torch.tensor([1e-10]), "c": torch.tensor([1e-6])}
    gaps = gradient_gaps(wanted, given)
    assert gaps == pytest.approx({"a": 0.25, "b": 0.0, "c": 0.5})
    assert gradient_gaps(wanted, {**given, "b": torch.tensor([1e-3])})["b"] > 1e6


def test_parity_feels_a_window_that_begins_late():
    recipe = recipe_of("architecture: qwen2, layers: 4, sliding_window: 50, sliding_from_layer: 3")
    config = shrunk(recipe).model.config
    assert (config.layers, config.sliding_window, config.sliding_from_layer) == (4, 17, 3)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[str, str]:
    """Tokens and tokenizer."""
    root = tmp_path_factory.mktemp("data")
    words = random.Random(0).choices(["sea", "mount", "pile", "log", "metre", "\n"], k=8_000)
    texts = [" ".join(words[i : i + 400]) for i in range(0, len(words), 400)]
    tokenizer = train_tokenizer(iter(texts), 320, str(root / "tokenizer"))
    documents = [Document(text, "words", str(i), "made") for i, text in enumerate(texts)]
    inputs = {"tokenizer": {"path": tokenizer.folder, "digest": tokenizer.digest}}
    for split, part in (("train", documents[2:]), ("val", documents[:2])):
        write_tokens(part, tokenizer, str(root / "tokens"), split, inputs)
    return str(root / "tokens"), tokenizer.folder


def test_a_gpt2_learns_continues_and_opens_in_transformers(folders, tmp_path):
    from transformers import AutoModelForCausalLM

    from seamount.inference.loading import load_model

    quick = ("steps=12", "threads=1", "schedule.warmup_steps=0")
    recipe = recipe_of("architecture: gpt2", *quick)
    request = TrainRequest(recipe, *folders, str(tmp_path))
    ref = train(request)
    assert ref.final_loss < 5.0  # ln 320 is 5.77
    theirs = AutoModelForCausalLM.from_pretrained(ref.model)
    assert type(theirs).__name__ == "GPT2LMHeadModel"
    ids = torch.arange(30).reshape(2, 15)
    wanted = theirs(ids).logits.detach().numpy()
    for path in (ref.model, ref.checkpoint):
        loaded = load_model(path)
        assert abs(loaded.forward(ids.numpy()) - wanted).max() < 1e-4, loaded.kind
    # a checkpoint from before a field came was trained with what is now that field's default
    manifest = Path(ref.checkpoint) / "manifest.json"
    content = json.loads(manifest.read_text())
    for name in ("qk_norm", "rope_scaling", "sliding_window"):
        del content["model"]["config"][name], content["identity"][f"model.{name}"]
    manifest.write_text(json.dumps(content))
    assert train(request).resumed_from == 12
    other = recipe_of("architecture: qwen3, sliding_window: 9", *quick)
    with pytest.raises(UserError, match=r"model\.architecture was gpt2 and is qwen3"):
        train(TrainRequest(other, *folders, str(tmp_path)))


def test_a_recipe_of_a_family_survives_plain_data():
    recipe = recipe_of(f"rope_scaling: {LLAMA3}")
    assert recipe_from_dict(json.loads(json.dumps(recipe_to_dict(recipe)))) == recipe


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model.archtecture=gpt2", "did you mean 'model.architecture'"),
        ("model.architecture=gtp2", "did you mean 'gpt2'"),
        ("model.rope_scaling={rope_type: yarn, facto: 2}", "model.rope_scaling.factor"),
        ("model.sliding_window=wide", "model.sliding_window is 'wide': it must be a whole number"),
        (
            "model={preset: gpt2, heads: 3, hidden_size: 96}",
            "heads 3 is not a multiple of model.kv_heads 12",
        ),
        ("model={preset: qwen2.5-0.5b, kv_heads: 1}", "tensor 2 does not divide model.kv_heads 1"),
    ],
)
def test_a_recipe_that_fits_no_family_is_refused(override, message):
    with pytest.raises(UserError, match=message):
        load_recipe("text/demo.yaml", [override, "parallel.tensor=2"])


def test_a_prediction_counts_what_is_multiplied():
    """By hand: looked-up tables cost nothing, a window bounds what a token attends to."""
    tokens = "data={sequence_length: 33, batch_size: 1}"
    gpt2 = predict(recipe_of("architecture: gpt2", tokens, "steps=1", "parallel.tensor=2"))
    matrices = gpt2["parameters"] - 64 * 32  # tied: the embedding is the head too
    assert gpt2["model_flops"] == (6 * matrices + 12 * 2 * 4 * 8 * 33) * 33
    assert "layers.*.mlp.gate" not in gpt2["cut_over_ranks"]
    window = "architecture: qwen2, sliding_window: 10, sliding_from_layer: 1"
    qwen2 = predict(recipe_of(window, tokens, "steps=1"))
    matrices = qwen2["parameters"] - 320 * 32
    assert qwen2["model_flops"] == (6 * matrices + 12 * 4 * 8 * (33 + 10)) * 33


@pytest.mark.parametrize(
    "preset", ["125m", "1b", "7b", "70b", "gpt2", "mistral-7b", "qwen2.5-0.5b", "qwen3-0.6b"]
)
def test_every_preset_can_be_planned(preset):
    recipe = load_recipe("text/demo.yaml", [f"model={{preset: {preset}}}"])
    assert predict(recipe)["parameters"] == recipe.model.config.parameters > 1e8
